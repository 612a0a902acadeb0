// Where a GEMM whose operands come by bulk copies has things in shared memory.
//
// A block computes kTileN rows of W by kTileM tokens, all of them. Of its kWarpsN x kWarpsK warps
// that multiply each has row blocks of its own and kRun columns of every stage. One warp more
// fetches: a stage is kStageK columns of all row blocks and of the tokens.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct BulkMemory {
  using S = Shape<Config>;
  static constexpr int kWarps = Config::kWarpsN * Config::kWarpsK;  // that multiply
  static constexpr int kThreads = 32 * (kWarps + 1);
  // Tokens of a stage: [kHalves][kTileM][64 values], each token's 128 bytes swizzled. Weights:
  // [kStageRowBlocks][kStageChunks] chunks.
  static constexpr int kHalves = 2 * S::kStageChunks;
  static constexpr int kHalfBytes = Config::kTileM * 128;
  static constexpr int kTokenBytes = kHalves * kHalfBytes;
  static constexpr int kWeightOffset = Config::kStages * kTokenBytes;
  static constexpr int kBarrierOffset = kWeightOffset + Config::kStages * S::kWeightBytes;
  static constexpr int kSharedBytes = kBarrierOffset + 2 * 8 * Config::kStages;

  static_assert(kHalfBytes % 1024 == 0, "the swizzle repeats after 1024 bytes");
  static_assert(Config::kSharedBytes >= kSharedBytes, "the launch gives this much shared memory");

  u32 shared;  // a multiple of 1024

  __device__ __forceinline__ u32 tokens(int stage) const { return shared + stage * kTokenBytes; }
  __device__ __forceinline__ u32 weights(int stage) const {
    return shared + kWeightOffset + stage * S::kWeightBytes;
  }
  // Of a stage: its bytes have come; all warps that multiply have read them.
  __device__ __forceinline__ u32 full_barrier(int stage) const {
    return shared + kBarrierOffset + 8 * stage;
  }
  __device__ __forceinline__ u32 empty_barrier(int stage) const {
    return full_barrier(Config::kStages + stage);
  }
  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int stage = 0; stage < Config::kStages; ++stage) {
      mbarrier_init(full_barrier(stage), 1);
      mbarrier_init(empty_barrier(stage), kWarps);
    }
    mbarrier_init_fence();
  }
};

}  // namespace heddle
