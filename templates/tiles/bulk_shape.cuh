// Where a GEMM whose operands come by bulk copies has things in shared memory.
//
// A block computes tile_n rows of W by tile_m tokens, all of them. Of its warps_n x warps_k warps
// that multiply each has row blocks of its own and kRun columns of every stage. One warp more
// fetches: a stage is stage_k columns of all row blocks and of the tokens.
#pragma once

#include "primitives/mbarrier.cuh"
#include "tiles/shape.cuh"

namespace heddle {

// The weights of a stage: a slot for each row block of the tile. A bulk copy is fastest where both
// of its ends begin at the same place of a line, so
// each copy lies as far into its slot as its bytes lie behind a line of the packed weights.
template <class Config>
struct BulkSlots {
  static constexpr u32 kLine = Config::value.kLine;
  // Bytes of a row block in a stage, and over all of K, modulo 2^32.
  static constexpr u32 kBytes = Shape<Config>::kRowBlockBytes;
  static constexpr u32 kRowBytes =
      static_cast<u32>(Config::value.shape.chunks) * Config::value.weights.chunk_bytes;
  static constexpr u32 kSlotBytes = Config::value.slot_bytes();

  u32 first;  // slot, in shared memory
  u32 from;   // of the packed weights, modulo kLine: where the first row block's bytes begin

  // Where the bytes of the i-th row block begin.
  __device__ __forceinline__ u32 row_block(int i) const {
    return first + i * kSlotBytes + (from + i * kRowBytes) % kLine;
  }
  // The slots from row block i and from byte `offset` of each on.
  __device__ __forceinline__ BulkSlots behind(int i, u32 offset) const {
    return {first + i * kSlotBytes + offset, from + i * kRowBytes};
  }
};

template <class Config>
struct BulkMemory {
  using S = Shape<Config>;
  static constexpr int kWarps = Config::value.multiplying_warps();
  static constexpr int kThreads = Config::value.threads();
  // Tokens of a stage: [kHalves][tile_m][64 values], each token's 128 bytes swizzled. Weights:
  // [kStageRowBlocks] slots of kStageChunks chunks.
  static constexpr int kHalves = 2 * S::kStageChunks;
  static constexpr int kHalfBytes = Config::value.tile_m * 128;
  static constexpr int kTokenBytes = Config::value.bulk_token_bytes();
  static constexpr int kWeightOffset = Config::value.bulk_weight_offset();
  static constexpr int kWeightBytes = Config::value.bulk_weight_bytes();
  static constexpr int kBarrierOffset = Config::value.barrier_offset();

  static_assert(Config::value.stages_ahead <= Config::value.stages, "each has a place");
  static_assert(kHalfBytes % 1024 == 0, "the swizzle repeats after 1024 bytes");

  u32 shared;  // a multiple of 1024

  __device__ __forceinline__ u32 tokens(int stage) const { return shared + stage * kTokenBytes; }
  // The weights in place `stage` of the ring, which are those of stage k of K; `row_block` is the
  // tile's first.
  __device__ __forceinline__ BulkSlots<Config> weights(int stage, int row_block, int k) const {
    using Slots = BulkSlots<Config>;
    return {shared + kWeightOffset + stage * kWeightBytes,
            (row_block * Slots::kRowBytes + k * Slots::kBytes) % Slots::kLine};
  }
  // Barriers of a stage: full when its bytes have come, empty when all warps that multiply have
  // read them.
  __device__ __forceinline__ u32 full_barrier(int stage) const {
    return shared + kBarrierOffset + 8 * stage;
  }
  __device__ __forceinline__ u32 empty_barrier(int stage) const {
    return full_barrier(Config::value.stages + stage);
  }
  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int stage = 0; stage < Config::value.stages; ++stage) {
      mbarrier_init(full_barrier(stage), 1);
      mbarrier_init(empty_barrier(stage), 32 * kWarps);
    }
    if constexpr (Config::value.is_cluster()) {
      mbarrier_init(shared + Config::value.given_barrier_offset(), 1);
    }
    mbarrier_init_fence();
  }
};

}  // namespace heddle
