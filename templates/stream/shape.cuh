// The places in shared memory of a GEMM that streams its weights; config.h says what follows from
// its configuration.
//
// A group of split_k blocks, a cluster where there is more than one, owns row blocks of 16 rows
// (schedule/strided_rows.cuh); each of its blocks has a part of K, of which each of its warps has a
// part. The tokens of a warp's columns stay in shared memory while one row block after the other is
// multiplied. Weights come by bulk copies into a ring of the warp's own: a stage is kStageChunks
// chunks of a row block, one run of bytes.
#pragma once

#include "primitives/mbarrier.cuh"
#include "primitives/types.cuh"
#include "stream/config.h"

namespace heddle {

template <class Config>
struct StreamShape {
  // What a schedule (schedule/strided_rows.cuh) asks for.
  static constexpr int kRowTiles = Config::value.shape.row_blocks;
  static constexpr int kTotalUnits = Config::value.shape.chunks;
  static constexpr int kSplitK = Config::value.split_k;

  static constexpr int kChunkK = Chunk::kColumns;
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kMostChunks = Config::value.most_chunks();
  static constexpr bool kEven = Config::value.is_even();

  static constexpr int kTokenRows = Config::value.token_rows();
  static constexpr int kTokenRowBytes = Config::value.token_row_bytes();
  static constexpr int kXBytes = Config::value.x_bytes();  // of a value in global memory
  static constexpr int kHalfTokenBytes =                   // of a token, for half a chunk
      kChunkK / 2 * Config::value.token_value_bytes();
  static constexpr int kTokenBytes = Config::value.token_bytes();

  static constexpr bool kWidens = Config::value.widens();
  static constexpr int kEntries = Config::value.entries();
  static constexpr int kWideBytes = Config::value.wide_bytes();
  static constexpr int kWideRowBytes = kEntries * kWideBytes;
  static constexpr int kWideChunkBytes = Config::value.wide_chunk_bytes();
  static constexpr int kWideChunks = Config::value.wide_chunks();
  static constexpr int kWarpBytes = Config::value.warp_bytes();

  static constexpr bool kBulkTokens = Config::value.bulk_tokens;
  static constexpr bool kOneStage = Config::value.has_one_stage();
  static constexpr int kPieceChunks = Config::value.piece_chunks();
  static constexpr int kPieces = Config::value.pieces();

  static constexpr int kTokenTiles = Config::value.token_tiles();
  static constexpr int kSumVectors = Config::value.sum_vectors();  // of a tile
  static constexpr int kPairs = kSumVectors / 8;                   // of a tile
  static constexpr int kTileSumBytes = 16 * kSumVectors;
  static constexpr int kSumBytes = Config::value.sum_bytes();
  static constexpr bool kMeets = Config::value.split_k > 1;
  static constexpr int kSlots = Config::value.kSlots;
  static constexpr int kMeetings = Config::value.meetings();

  static constexpr int kMeetingBarriers = Config::value.meeting_barriers();
  static constexpr int kSumOffset = Config::value.sum_offset();
  static constexpr int kMeetingOffset = Config::value.meeting_offset();
  static constexpr int kRingOffset = Config::value.ring_offset();

  static_assert(Config::value.tokens <= 8 || Config::value.tokens == 16,
                "one or two tiles of tokens");
  static_assert(!kBulkTokens || Config::value.token_values != TokenValues::kFp8OnTheWay,
                "bulk copies pass by no registers");
  static_assert(Config::value.shape.chunks / Config::value.split_k >= Config::value.warps_k,
                "every warp has a chunk");
  static_assert(!kWidens || Config::Scale::kPairBytes == 2, "scales of 8 bits are widened");
};

template <class Config>
struct StreamMemory {
  using S = StreamShape<Config>;
  u32 shared;

  __device__ __forceinline__ u32 stage_barrier(int warp, int stage) const {
    return shared + 8 * (warp * Config::value.stages + stage);
  }
  __device__ __forceinline__ u32 token_barrier(int warp, int piece) const {
    return stage_barrier(Config::value.warps_k, 0) + 8 * (warp * S::kPieces + piece);
  }
  // All warps have put their sums in the slot; they have been read.
  __device__ __forceinline__ u32 full_barrier(int slot) const {
    return token_barrier(Config::value.warps_k, 0) + 8 * slot;
  }
  __device__ __forceinline__ u32 free_barrier(int slot) const {
    return full_barrier(S::kSlots + slot);
  }
  // Barriers between blocks: of meetings in which this block counts the others' sums, and of this
  // block's places in meetings of block `rank`.
  __device__ __forceinline__ u32 meeting_full_barrier(int meeting) const {
    return free_barrier(S::kSlots + meeting);
  }
  __device__ __forceinline__ u32 meeting_free_barrier(int meeting, int rank) const {
    return meeting_full_barrier(S::kMeetings + rank * S::kMeetings + meeting);
  }
  // Where a warp puts its sums.
  __device__ __forceinline__ u32 sums(int slot, int warp) const {
    return shared + S::kSumOffset + (slot * Config::value.warps_k + warp) * S::kSumBytes;
  }
  // Where block `rank` puts its sums for a meeting.
  __device__ __forceinline__ u32 meeting(int meeting, int rank) const {
    return shared + S::kMeetingOffset + (meeting * Config::value.split_k + rank) * S::kSumBytes;
  }
  __device__ __forceinline__ u32 ring(int warp) const {
    return shared + S::kRingOffset + warp * S::kWarpBytes;
  }
  __device__ __forceinline__ u32 tokens(int warp) const {
    return ring(warp) + Config::value.stages * S::kStageBytes;
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
