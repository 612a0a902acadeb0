// Constants that follow from the Config of a GEMM by slices.
//
// A block has kWarpsN groups of kWarpsK warps, and one warp more that adds and writes. Each group
// takes a row block of 16 rows at a time; warp_k of the group owns the same slice of K of all of
// them, so the tokens' values of the slice stay in its registers. Its weights come by bulk copies
// into a ring of its own: the chunks of a slice are one run of bytes.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct SliceShape {
  static constexpr int kChunkK = 128;
  static constexpr int kTokenTiles = Config::kTileM / 8;
  static constexpr int kWarps = Config::kWarpsK * Config::kWarpsN;  // that multiply
  static constexpr int kSliceTiles = Config::kSliceChunks * (kChunkK / 16);
  // A stage of the ring holds the slice of one row block.
  static constexpr int kStageBytes = Config::kSliceChunks * Config::kChunkBytes;

  // The slice of every token, on its way to registers: rows lie 16 bytes apart in their banks.
  static constexpr int kTokenRowBytes = Config::kSliceChunks * kChunkK * 2 + 16;
  static constexpr int kTokenBytes = Config::kTokens * kTokenRowBytes;
  // A warp's own memory: its ring. The tokens pass through what lies behind the first stages.
  static constexpr int kTokenOffset = Config::kFirstStages * kStageBytes;
  static constexpr int kWarpBytes = kTokenOffset + kTokenBytes > Config::kStages* kStageBytes
                                        ? kTokenOffset + kTokenBytes
                                        : Config::kStages* kStageBytes;

  // Sums that a warp hands over: [kTileM][kSumRow] floats; the padding spreads the banks.
  static constexpr int kSumRow = 20;
  static constexpr int kSumBytes = 4 * Config::kTileM * kSumRow;

  // One barrier for each stage of a warp; then two pairs for the sums, which are handed over in two
  // buffers.
  static constexpr int kBarrierBytes = ((kWarps * Config::kStages + 4) * 8 + 127) / 128 * 128;
  static constexpr int kSharedBytes = kBarrierBytes + 2 * kWarps * kSumBytes + kWarps * kWarpBytes;

  static constexpr int kRowGroups = (Config::kRowBlocks + Config::kWarpsN - 1) / Config::kWarpsN;
  static constexpr int kSplitChunks = (Config::kChunks + Config::kSplitK - 1) / Config::kSplitK;

  static_assert(Config::kTileM % 8 == 0 && Config::kTokens <= Config::kTileM, "whole token tiles");
  static_assert(Config::kWarpsK * Config::kSliceChunks >= kSplitChunks, "the slices cover K");
  static_assert(Config::kSharedBytes >= kSharedBytes, "the launch gives this much shared memory");
};

// Where in shared memory everything lies; `warp` is of those that multiply.
template <class Config>
struct SliceMemory {
  using S = SliceShape<Config>;
  u32 shared;

  __device__ __forceinline__ u32 stage_barrier(int warp, int stage) const {
    return shared + 8 * (warp * Config::kStages + stage);
  }
  // Of the two buffers of sums: all warps have put theirs; they have been read.
  __device__ __forceinline__ u32 full_barrier(int buffer) const {
    return shared + 8 * (S::kWarps * Config::kStages + buffer);
  }
  __device__ __forceinline__ u32 free_barrier(int buffer) const { return full_barrier(2 + buffer); }
  __device__ __forceinline__ u32 sums(int buffer, int warp) const {
    return shared + S::kBarrierBytes + (buffer * S::kWarps + warp) * S::kSumBytes;
  }
  __device__ __forceinline__ u32 ring(int warp) const {
    return shared + S::kBarrierBytes + 2 * S::kWarps * S::kSumBytes + warp * S::kWarpBytes;
  }
};

// A warp's own barriers; those of the sums for the warp that adds. Every thread that puts or has
// read sums arrives for itself.
template <class Config>
__device__ __forceinline__ void init_barriers(const SliceMemory<Config>& memory, int warp) {
  using S = SliceShape<Config>;
  if (warp < S::kWarps) {
#pragma unroll
    for (int stage = 0; stage < Config::kStages; ++stage) {
      mbarrier_init(memory.stage_barrier(warp, stage), 1);
    }
  } else {
#pragma unroll
    for (int buffer = 0; buffer < 2; ++buffer) {
      mbarrier_init(memory.full_barrier(buffer), 32 * S::kWarps);
      mbarrier_init(memory.free_barrier(buffer), 32);
    }
  }
}

// The row blocks of a block: group `i` of its run holds kWarpsN of them.
template <class Config>
__device__ __forceinline__ int slice_row_block(int i, int warp_n) {
  const int group = static_cast<int>(blockIdx.x) + i * static_cast<int>(gridDim.x);
  return group * Config::kWarpsN + warp_n;
}
template <class Config>
__device__ __forceinline__ int slice_runs() {
  const int left = SliceShape<Config>::kRowGroups - static_cast<int>(blockIdx.x);
  return (left + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
}

}  // namespace heddle
