// Constants that follow from the Config of a GEMM that streams its weights.
//
// A block owns some row blocks of 16 rows and, of a split, a part of K. Its warps share K out: each
// walks its own columns in pieces of kPieceChunks chunks. A piece's tokens stay in shared memory
// while the piece of one row block after the other is multiplied. Weights come by bulk copies into
// a ring of the warp's own: a stage is kStageChunks chunks of a row block, one run of bytes.
#pragma once

#include "gemm/shape.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct StreamShape {
  static constexpr int kChunkK = 128;
  static constexpr int kTokenTiles = Config::kTileM / 8;
  static constexpr int kStageBytes = Config::kStageChunks * Config::kChunkBytes;

  // Of a warp, at most.
  static constexpr int kSplitChunks = (Config::kChunks + Config::kSplitK - 1) / Config::kSplitK;
  static constexpr int kMostChunks = (kSplitChunks + Config::kWarpsK - 1) / Config::kWarpsK;
  static constexpr int kPieces = (kMostChunks + Config::kPieceChunks - 1) / Config::kPieceChunks;
  // Whether every warp has as many chunks, in whole pieces of whole stages.
  static constexpr bool kEven =
      Config::kChunks % (Config::kSplitK * Config::kWarpsK) == 0 &&
      Config::kChunks / (Config::kSplitK * Config::kWarpsK) % Config::kPieceChunks == 0 &&
      Config::kPieceChunks % Config::kStageChunks == 0;

  // A piece of every token: rows lie 16 bytes apart in their banks. The factors of the columns are
  // one row more.
  static constexpr int kTokenRows = Config::kTokens + (Config::kPreScale ? 1 : 0);
  static constexpr int kTokenRowBytes = Config::kPieceChunks * kChunkK * 2 + 16;
  // With kFoldBias, of each unit of columns and pair of tokens, behind the tokens, 16 bytes: what
  // the sums of rows g and g + 8 begin with. Integer zero points have yet to be multiplied with it.
  static constexpr int kUnit = Config::kMetaGroup < kChunkK ? Config::kMetaGroup : kChunkK;
  static constexpr int kUnits = Config::kPieceChunks * (kChunkK / kUnit);
  static constexpr int kStartOffset = kTokenRows * kTokenRowBytes;
  static constexpr int kStartBytes = Config::kFoldBias ? 64 * kTokenTiles : 0;  // of a unit
  static constexpr int kTokenBytes = kStartOffset + kUnits * kStartBytes;
  static constexpr int kWarpBytes = Config::kStages * kStageBytes + kTokenBytes;

  // The sums of a warp, of a piece of one row block: what lane 4g + t holds of token tile j is 16
  // bytes, [j][g][t], of those t that have tokens.
  static constexpr int kLastTokens = Config::kTokens - 8 * (kTokenTiles - 1);
  static constexpr int kPairs = kTokenTiles > 1 ? 4 : (kLastTokens + 1) / 2;
  static constexpr int kSumVectors = kTokenTiles * 8 * kPairs;
  static constexpr int kSumBytes = 16 * kSumVectors;

  // Warps put them in slots that are used in turn. The sums of all warps stay, one slot for each
  // row block, until its last piece.
  static constexpr int kSlots = 2;
  static constexpr bool kKeepsSums = kPieces > 1;
  static constexpr int kKeptBytes = kKeepsSums ? Config::kMostBlocks * kSumBytes : 0;

  // One barrier for each stage of a warp and for its tokens; two for each slot.
  static constexpr int kBarrierBytes =
      ((Config::kWarpsK * (Config::kStages + 1) + 2 * kSlots) * 8 + 127) / 128 * 128;
  static constexpr int kSharedBytes =
      kBarrierBytes + kKeptBytes + Config::kWarpsK * (kSlots * kSumBytes + kWarpBytes);

  static_assert(Config::kTileM % 8 == 0 && kLastTokens > 0 && kLastTokens <= 8,
                "token tiles without an empty one");
  static_assert(Config::kChunks / Config::kSplitK >= Config::kWarpsK, "every warp has a chunk");
  static_assert(Config::kSplitK == 1 || 4 * Config::kRowBlocks <= Config::kCounterBytes,
                "a counter for each row block");
  static_assert(Config::kSharedBytes >= kSharedBytes, "the launch gives this much shared memory");
};

// Where in shared memory everything lies.
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
  // Of a row block, counted from the block's first.
  __device__ __forceinline__ u32 kept_sums(int block) const {
    return shared + S::kBarrierBytes + block * S::kSumBytes;
  }
  __device__ __forceinline__ u32 sums(int slot, int warp) const {
    return shared + S::kBarrierBytes + S::kKeptBytes +
           (slot * Config::kWarpsK + warp) * S::kSumBytes;
  }
  __device__ __forceinline__ u32 ring(int warp) const {
    return sums(S::kSlots, 0) + warp * S::kWarpBytes;
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
