// The configuration of a GEMM that streams its weights past tokens in shared memory (stream.cuh).
#pragma once

#include "steps/config.h"

namespace heddle::device {

// What the values of tokens are, and where codes of FP8 become FP16 for the matrix instruction: in
// the loop, or on their way to shared memory, of which tokens take twice as much then.
HEDDLE_ENUM(TokenValues, kHalves, kInt8, kFp8InLoop, kFp8OnTheWay);

// A group of split_k thread blocks, a cluster where there are several, owns row blocks of 16 rows;
// each has a part of K, of which each of its warps has a part. One warp more adds.
struct StreamConfig {
  PackedWeights weights;
  WeightShape shape;
  Scaling scaling;
  EpilogueConfig epilogue;
  bool pre_scale;  // the columns of the tokens have factors
  TokenValues token_values;
  bool scale_per_token;  // of codes; else one scale for all tokens
  int tokens;            // that shared memory holds: up to 8, or 16
  bool bulk_tokens;      // which come by bulk copies, else through registers
  int stage_chunks;      // of a row block, one run of bytes
  int stages;            // of a warp's ring
  int split_k;           // thread blocks of a cluster that share K
  int cluster;           // thread blocks that share K, or what they read of the tokens
  int warps_k;           // that multiply, along K
  int workers;           // thread blocks of a launch
  // Shared memory is padded to so many bytes, so that no second block finds room on an SM.
  int least_shared_bytes;

  // Tokens of eight bits have no zero points here: rows of weights of four bits have no sums of
  // codes, by which zero points would be multiplied.
  static constexpr bool token_zeros = false;

  HEDDLE_BOTH constexpr int threads() const { return 32 * (warps_k + 1); }
  HEDDLE_BOTH constexpr int stage_bytes() const { return stage_chunks * weights.chunk_bytes; }
  // Chunks of a warp, at most.
  HEDDLE_BOTH constexpr int most_chunks() const {
    return static_cast<int>(ceil_div(ceil_div(shape.chunks, split_k), warps_k));
  }
  // Whether every warp has as many chunks, in whole stages.
  HEDDLE_BOTH constexpr bool is_even() const {
    return shape.chunks % (split_k * warps_k) == 0 &&
           shape.chunks / (split_k * warps_k) % stage_chunks == 0;
  }

  HEDDLE_BOTH constexpr bool has_codes() const { return token_values != TokenValues::kHalves; }
  HEDDLE_BOTH constexpr bool has_fp8() const {
    return token_values == TokenValues::kFp8InLoop || token_values == TokenValues::kFp8OnTheWay;
  }
  // Bytes of a token's value in global memory (x_bytes) and in shared memory (token_value_bytes).
  HEDDLE_BOTH constexpr int x_bytes() const { return has_codes() ? 1 : 2; }
  HEDDLE_BOTH constexpr int token_value_bytes() const {
    return token_values == TokenValues::kFp8OnTheWay ? 2 : x_bytes();
  }
  // Rows lie 16 bytes apart in their banks. The factors of the columns are one row more.
  HEDDLE_BOTH constexpr int token_rows() const { return tokens + (pre_scale ? 1 : 0); }
  HEDDLE_BOTH constexpr int token_row_bytes() const {
    return most_chunks() * Chunk::kColumns * token_value_bytes() + 16;
  }
  HEDDLE_BOTH constexpr int token_bytes() const { return token_rows() * token_row_bytes(); }

  // Scales of 8 bits are widened once for a warp: [chunk][g][entry], for rows g and g + 8 a pair of
  // the weights' type or two FP32. Those of all chunks of a stage at once; where a chunk has more
  // than four entries of two at most, so that the ring keeps its shared memory. Tokens of eight
  // bits have none but the integers of two levels.
  HEDDLE_BOTH constexpr bool widens() const {
    return scaling.mode != ScaleMode::kChannel && weights.scale_bytes == Chunk::kRows &&
           !has_codes();
  }
  HEDDLE_BOTH constexpr int entries() const { return weights.entries(); }  // of a chunk
  HEDDLE_BOTH constexpr int wide_bytes() const {
    return scaling.mode == ScaleMode::kWeight ? 4 : 8;
  }
  HEDDLE_BOTH constexpr int wide_chunk_bytes() const { return 8 * entries() * wide_bytes(); }
  HEDDLE_BOTH constexpr int wide_chunks() const {  // at once
    return entries() <= 4 ? stage_chunks : stage_chunks % 2 == 0 ? 2 : 1;
  }
  HEDDLE_BOTH constexpr int wide_scale_bytes() const {
    return widens() ? wide_chunks() * wide_chunk_bytes() : 0;
  }

  // Whole lines of shared memory, since copies into a ring that begins inside of one fill one more.
  HEDDLE_BOTH constexpr int warp_bytes() const {
    return (stages * stage_bytes() + token_bytes() + wide_scale_bytes() + 127) / 128 * 128;
  }

  // A warp's tokens come by bulk copies in two pieces, so that the first columns need not wait for
  // the last: whole stages, if there are several.
  HEDDLE_BOTH constexpr bool has_one_stage() const { return most_chunks() <= stage_chunks; }
  HEDDLE_BOTH constexpr int piece_chunks() const {
    constexpr int kMostPieces = 2;
    const int unit = has_one_stage() ? 1 : stage_chunks;
    return static_cast<int>(ceil_div(most_chunks(), kMostPieces * unit)) * unit;
  }
  HEDDLE_BOTH constexpr int pieces() const {
    return bulk_tokens ? static_cast<int>(ceil_div(most_chunks(), piece_chunks())) : 0;
  }

  // The sums of a warp, of one row block: of each eight tokens what lane 4g + t holds is 16 bytes,
  // [g][t], of those t that have tokens.
  HEDDLE_BOTH constexpr int token_tiles() const { return (tokens + 7) / 8; }
  HEDDLE_BOTH constexpr int sum_vectors() const {  // of a tile of tokens
    return 8 * (tokens < 8 ? (tokens + 1) / 2 : 4);
  }
  HEDDLE_BOTH constexpr int sum_bytes() const { return token_tiles() * 16 * sum_vectors(); }
  // Warps put them in slots that are used in turn; so do the blocks that share K where their sums
  // meet.
  static constexpr int kSlots = 2;
  HEDDLE_BOTH constexpr int meetings() const { return split_k > 1 ? 2 : 1; }

  // For each warp its stages and pieces of tokens; for each slot of sums full and free; for each
  // meeting full, and free of every block's.
  HEDDLE_BOTH constexpr int meeting_barriers() const {
    return split_k > 1 ? meetings() * (1 + split_k) : 0;
  }
  HEDDLE_BOTH constexpr int barriers() const {
    return warps_k * (stages + pieces()) + 2 * kSlots + meeting_barriers();
  }
  HEDDLE_BOTH constexpr int sum_offset() const { return (8 * barriers() + 127) / 128 * 128; }
  HEDDLE_BOTH constexpr int meeting_offset() const {
    return sum_offset() + kSlots * warps_k * sum_bytes();
  }
  HEDDLE_BOTH constexpr int ring_offset() const {
    return meeting_offset() + meetings() * split_k * sum_bytes();
  }
  HEDDLE_BOTH constexpr int used_shared_bytes() const {
    return ring_offset() + warps_k * warp_bytes();
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return max_of(used_shared_bytes(), least_shared_bytes);
  }

  HEDDLE_FIELDS(weights, shape, scaling, epilogue, pre_scale, token_values, scale_per_token, tokens,
                bulk_tokens, stage_chunks, stages, split_k, cluster, warps_k, workers,
                least_shared_bytes)
};

}  // namespace heddle::device
