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
  static constexpr int kHalfTokenBytes = kChunkK;  // of a token, for half a chunk
  static constexpr int kTokenBytes = kTokenRows * kTokenRowBytes;

  // Scales of 8 bits are widened once for a warp: [chunk][g][entry], for rows g and g + 8 a pair of
  // the weights' type or two FP32. Those of a stage at once, but of groups of 16, so that two
  // blocks find room on an SM.
  static constexpr bool kWidens =
      Config::kScaleMode != ScaleMode::kChannel && Config::Scale::kPairBytes == 2;
  static constexpr int kEntries = Config::kMetaGroup < kChunkK ? kChunkK / Config::kMetaGroup : 1;
  static constexpr int kWideBytes = Config::kScaleMode == ScaleMode::kWeight ? 4 : 8;
  static constexpr int kWideRowBytes = kEntries * kWideBytes;
  static constexpr int kWideChunkBytes = 8 * kWideRowBytes;
  static constexpr int kWideChunks = kEntries <= 4                   ? Config::kStageChunks
                                     : Config::kStageChunks % 2 == 0 ? 2
                                                                     : 1;  // at once
  static constexpr int kWideScaleBytes = kWidens ? kWideChunks * kWideChunkBytes : 0;

  // Whole lines of shared memory, since copies into a ring that begins inside of one fill one more.
  static constexpr int kWarpBytes =
      (Config::kStages * kStageBytes + kTokenBytes + kWideScaleBytes + 127) / 128 * 128;

  // Tokens that each block copies for itself, through registers.
  static constexpr bool kDirect = Config::kTokens <= 8;
  // More of a warp's come in pieces, so that the first columns need not wait for the last: whole
  // stages, if there are several.
  static constexpr int kMostPieces = 2;
  static constexpr bool kOneStage = kMostChunks <= Config::kStageChunks;
  static constexpr int kPieceUnit = kOneStage ? 1 : Config::kStageChunks;
  static constexpr int kPieceChunks =
      (kMostChunks + kMostPieces * kPieceUnit - 1) / (kMostPieces * kPieceUnit) * kPieceUnit;
  static constexpr int kPieces = kDirect ? 0 : (kMostChunks + kPieceChunks - 1) / kPieceChunks;

  // The sums of a warp, of one row block: of each eight tokens what lane 4g + t holds is 16 bytes,
  // [g][t], of those t that have tokens.
  static constexpr int kTokenTiles = (Config::kTokens + 7) / 8;
  static constexpr int kPairs = Config::kTokens < 8 ? (Config::kTokens + 1) / 2 : 4;  // of a tile
  static constexpr int kSumVectors = 8 * kPairs;                                      // of a tile
  static constexpr int kTileSumBytes = 16 * kSumVectors;
  static constexpr int kSumBytes = kTokenTiles * kTileSumBytes;
  // Warps put them in slots that are used in turn; so do the blocks that share K where their sums
  // meet.
  static constexpr bool kMeets = Config::kSplitK > 1;
  static constexpr int kSlots = 2;
  static constexpr int kMeetings = kMeets ? 2 : 1;

  // For each warp its stages and pieces of tokens; for each slot of sums full and free; for each
  // meeting full, and free of every block's.
  static constexpr int kMeetingBarriers = kMeets ? kMeetings * (1 + Config::kSplitK) : 0;
  static constexpr int kBarriers =
      Config::kWarpsK * (Config::kStages + kPieces) + 2 * kSlots + kMeetingBarriers;
  static constexpr int kSumOffset = (8 * kBarriers + 127) / 128 * 128;
  static constexpr int kMeetingOffset = kSumOffset + kSlots * Config::kWarpsK * kSumBytes;
  static constexpr int kRingOffset = kMeetingOffset + kMeetings * Config::kSplitK * kSumBytes;
  static constexpr int kSharedBytes = kRingOffset + Config::kWarpsK * kWarpBytes;

  static_assert(Config::kTokens <= 8 || Config::kTokens == 16, "one or two tiles of tokens");
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
  __device__ __forceinline__ u32 token_barrier(int warp, int piece) const {
    return stage_barrier(Config::kWarpsK, 0) + 8 * (warp * S::kPieces + piece);
  }
  // All warps have put their sums in the slot; they have been read.
  __device__ __forceinline__ u32 full_barrier(int slot) const {
    return token_barrier(Config::kWarpsK, 0) + 8 * slot;
  }
  __device__ __forceinline__ u32 free_barrier(int slot) const {
    return full_barrier(S::kSlots + slot);
  }
  // The same between blocks, of meetings of which this block counts the others' sums in, and of
  // this block's places in meetings of block `rank`.
  __device__ __forceinline__ u32 meeting_full_barrier(int meeting) const {
    return free_barrier(S::kSlots + meeting);
  }
  __device__ __forceinline__ u32 meeting_free_barrier(int meeting, int rank) const {
    return meeting_full_barrier(S::kMeetings + rank * S::kMeetings + meeting);
  }
  // Of a warp.
  __device__ __forceinline__ u32 sums(int slot, int warp) const {
    return shared + S::kSumOffset + (slot * Config::kWarpsK + warp) * S::kSumBytes;
  }
  // Of a block.
  __device__ __forceinline__ u32 meeting(int meeting, int rank) const {
    return shared + S::kMeetingOffset + (meeting * Config::kSplitK + rank) * S::kSumBytes;
  }
  __device__ __forceinline__ u32 ring(int warp) const {
    return shared + S::kRingOffset + warp * S::kWarpBytes;
  }
  __device__ __forceinline__ u32 tokens(int warp) const {
    return ring(warp) + Config::kStages * S::kStageBytes;
  }
  __device__ __forceinline__ u32 wide_scales(int warp) const {
    return tokens(warp) + S::kTokenBytes;
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
