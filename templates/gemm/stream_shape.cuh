// Constants that follow from the Config of a GEMM that streams its weights, and the places in
// shared memory.
//
// A group of kSplitK blocks, a cluster where there is more than one, owns row blocks of 16 rows;
// each of its blocks has a part of K, of which each of its warps has a part. The tokens of a warp's
// columns stay in shared memory while one row block after the other is multiplied. Weights come by
// bulk copies into a ring of the warp's own: a stage is kStageChunks chunks of a row block, one run
// of bytes.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct StreamShape {
  static constexpr int kChunkK = 128;
  static constexpr int kThreads = 32 * (Config::kWarpsK + 1);  // one warp more, which adds
  static constexpr int kStageBytes = Config::kStageChunks * Config::kChunkBytes;

  // Of a warp, at most.
  static constexpr int kBlockChunks = (Config::kChunks + Config::kSplitK - 1) / Config::kSplitK;
  static constexpr int kMostChunks = (kBlockChunks + Config::kWarpsK - 1) / Config::kWarpsK;
  // Whether every warp has as many chunks, in whole stages.
  static constexpr bool kEven =
      Config::kChunks % (Config::kSplitK * Config::kWarpsK) == 0 &&
      Config::kChunks / (Config::kSplitK * Config::kWarpsK) % Config::kStageChunks == 0;

  // Rows lie 16 bytes apart in their banks. The factors of the columns are one row more.
  static constexpr int kTokenRows = Config::kTokens + (Config::kPreScale ? 1 : 0);
  static constexpr int kTokenRowBytes = kMostChunks * kChunkK * 2 + 16;
  static constexpr int kTokenBytes = kTokenRows * kTokenRowBytes;
  static constexpr int kWarpBytes = Config::kStages * kStageBytes + kTokenBytes;

  // The sums of a warp, of one row block: what lane 4g + t holds is 16 bytes, [g][t], of those t
  // that have tokens.
  static constexpr int kPairs = (Config::kTokens + 1) / 2;
  static constexpr int kSumVectors = 8 * kPairs;
  static constexpr int kSumBytes = 16 * kSumVectors;
  // Warps put them in slots that are used in turn; so do the other blocks of a cluster.
  static constexpr int kSlots = 2;
  static constexpr int kPlaces = Config::kWarpsK + Config::kSplitK - 1;  // of a slot

  // For each warp its stages and its tokens; for each slot of sums full and free, and both again
  // between the blocks of a cluster.
  static constexpr int kBarriers = Config::kWarpsK * (Config::kStages + 1) + 4 * kSlots;
  static constexpr int kSumOffset = (8 * kBarriers + 127) / 128 * 128;
  static constexpr int kRingOffset = kSumOffset + kSlots * kPlaces * kSumBytes;
  static constexpr int kSharedBytes = kRingOffset + Config::kWarpsK * kWarpBytes;

  static_assert(Config::kTokens <= 8, "one tile of the matrix instruction");
  static_assert(Config::kChunks / Config::kSplitK >= Config::kWarpsK, "every warp has a chunk");
  static_assert(Config::kSharedBytes >= kSharedBytes, "the launch gives this much shared memory");
};

template <class Config>
struct StreamMemory {
  using S = StreamShape<Config>;
  u32 shared;

  __device__ __forceinline__ u32 stage_barrier(int warp, int stage) const {
    return shared + 8 * (warp * Config::kStages + stage);
  }
  __device__ __forceinline__ u32 token_barrier(int warp) const {
    return stage_barrier(Config::kWarpsK, 0) + 8 * warp;
  }
  // All warps have put their sums in the slot; they have been read.
  __device__ __forceinline__ u32 full_barrier(int slot) const {
    return token_barrier(Config::kWarpsK) + 8 * slot;
  }
  __device__ __forceinline__ u32 free_barrier(int slot) const {
    return full_barrier(S::kSlots + slot);
  }
  // The same between blocks: the first block's counts the sums of the others in; each of the
  // others learns that its place is free.
  __device__ __forceinline__ u32 cluster_full_barrier(int slot) const {
    return free_barrier(S::kSlots + slot);
  }
  __device__ __forceinline__ u32 cluster_free_barrier(int slot) const {
    return cluster_full_barrier(S::kSlots + slot);
  }
  // Of a warp, or behind them of the cluster's blocks from the second on.
  __device__ __forceinline__ u32 sums(int slot, int place) const {
    return shared + S::kSumOffset + (slot * S::kPlaces + place) * S::kSumBytes;
  }
  __device__ __forceinline__ u32 ring(int warp) const {
    return shared + S::kRingOffset + warp * S::kWarpBytes;
  }
  __device__ __forceinline__ u32 tokens(int warp) const {
    return ring(warp) + Config::kStages * S::kStageBytes;
  }
};

struct Range {
  int begin, end;
};
// Part i of n of what is shared out evenly.
__device__ __forceinline__ Range part_of(const Range& all, int i, int n) {
  const i64 count = all.end - all.begin;
  return {all.begin + static_cast<int>(count * i / n),
          all.begin + static_cast<int>(count * (i + 1) / n)};
}

}  // namespace heddle
