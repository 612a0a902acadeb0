// The configuration of a GEMM by wgmma (warpgroup.cuh).
#pragma once

#include "steps/config.h"

namespace heddle::device {

// What the matrix instruction multiplies. kHalf: weights decoded to 16 bits, and tokens of 16 bits.
// kDecodedBytes: weights decoded to eight bits, and tokens of eight. kBytes: codes of eight bits as
// they are, both from shared memory.
HEDDLE_ENUM(WgmmaOperands, kHalf, kDecodedBytes, kBytes);

// How thread blocks of a launch may share the K of a tile. kParts: by way of the workspace. kPairs:
// also two of them as a pair that exchanges sums in shared memory, and always so where a tile has
// all tokens.
HEDDLE_ENUM(TileSharing, kNone, kParts, kPairs);

// How a tile ends, i.e. which of the policies in store.cuh takes its sums to Y.
HEDDLE_ENUM(TileEnd, kFloats, kRounded, kTokenRows, kFoundScales, kFoundRows, kFoundTokens);

// What the text has of N, K and M. A kernel serves every shape of W of which these are true.
struct WarpgroupEnds {
  bool one_token_tile;  // a tile has all tokens of a launch
  bool rows_may_end;    // the last blocks' rows do: N is no multiple of cluster_rows()
  int last_chunks;      // of the last stage, where K leaves it fewer; else 0

  HEDDLE_FIELDS(one_token_tile, rows_may_end, last_chunks)
};

// A tile is tile_n rows of W by tile_m tokens. A stage is stage_chunks chunks of every row block of
// the tile, or half a chunk of each. What a warpgroup that multiplies owns:
//
//   tile_n   warpgroups  rows                 columns of a stage        sums that it stores
//   64       2           all 64               every other chunk; of a   half of the tokens
//                                             single chunk half of its
//                                             columns
//   128      2           64                   all                       all tokens
//   256      2           two row tiles of 64  all                       all tokens
//   256      4           64                   all                       all tokens
//
// With has_token_rows() each of two owns half of the tokens, in tiles of 64, and all rows, 128 of
// them at a time: `row tile` r of its sums is then the rth 128 rows, and own_tokens() counts twice
// the tokens that it has, of half as many rows.
struct WarpgroupConfig {
  PackedWeights weights;
  Scaling scaling;
  EpilogueConfig epilogue;
  WgmmaOperands operands;
  bool promotes;         // sums of 128 columns are added in FP32
  bool scale_per_token;  // else one scale for all tokens
  bool token_zeros;      // tokens have zero points, which meet the sums of the rows' codes
  bool e8m0_scales;      // ScaleMode::kBlock: tokens' factors are bytes of words, else FP32
  int tile_m;            // tokens of a tile
  int tile_n;            // rows of W of a tile
  int stage_chunks;      // of a row block
  bool half_stages;      // a stage is half of a chunk
  int stages;            // of the ring in shared memory
  int stages_ahead;      // whose weights are copied before griddepcontrol.wait
  int warpgroups;        // that multiply: 2 or 4
  int cluster;           // thread blocks that read the same tokens once
  TileSharing sharing;
  int step_tiles;  // decoded at a time: tiles of 16 columns, of byte tokens 32
  WarpgroupEnds ends;

  static constexpr int kRowTile = 64;      // rows of a matrix instruction
  static constexpr int kFetchWarps = 4;    // one warpgroup more, which fetches
  static constexpr int kManyTokens = 128;  // sums of more leave few registers
  // Sets of registers that weights are decoded into one after the other.
  static constexpr int kDecodedSets = 2;

  // ---- What is multiplied, and in which sums ----

  // The three cases of WgmmaOperands are mostly asked about by half: are tokens codes of eight
  // bits, and are weights multiplied as such, too?
  HEDDLE_BOTH constexpr bool byte_tokens() const { return operands != WgmmaOperands::kHalf; }
  HEDDLE_BOTH constexpr bool byte_operands() const { return operands == WgmmaOperands::kBytes; }
  // Whether sums of 128 columns are scaled, each by its token's factor and its block's.
  HEDDLE_BOTH constexpr bool scales_blocks() const { return scaling.mode == ScaleMode::kBlock; }
  // Whether sums of a group, or of 128 columns, have registers of their own before they are added.
  HEDDLE_BOTH constexpr bool has_group_sums() const {
    return scaling.mode == ScaleMode::kAccumulator || scaling.mode == ScaleMode::kGroup || promotes;
  }
  // With promotes: tokens whose products have registers of their own at a time.
  HEDDLE_BOTH constexpr int chunk_sum_tokens() const {
    return has_many_tokens() ? tile_m / 2 : tile_m;
  }

  // ---- Thread blocks and warpgroups ----

  HEDDLE_BOTH constexpr int threads() const { return 32 * (4 * warpgroups + kFetchWarps); }
  // Four warpgroups have 112 registers a thread, two 232 (shape.cuh).
  HEDDLE_BOTH constexpr bool has_four() const { return warpgroups == 4; }
  // Whether warpgroups share rows, and so divide the columns of a stage between them.
  HEDDLE_BOTH constexpr bool splits_columns() const { return tile_n == kRowTile; }
  // Whether each of them then has half of the columns of each chunk, and not every other chunk.
  HEDDLE_BOTH constexpr bool splits_chunks() const {
    return splits_columns() && stage_chunks % warpgroups != 0;
  }
  // Columns that a warpgroup has of a chunk at a time, and those of them that have scales in
  // common, whose products meet in sums of their own with has_group_sums().
  HEDDLE_BOTH constexpr int run_columns() const {
    return splits_chunks() || half_stages ? Chunk::kColumns / 2 : Chunk::kColumns;
  }
  HEDDLE_BOTH constexpr int group_columns() const {
    return min_of(weights.meta_group, run_columns());
  }
  HEDDLE_BOTH constexpr bool has_many_tokens() const { return tile_m > kManyTokens; }
  // Rows of the blocks of a cluster, which take neighbouring tiles.
  HEDDLE_BOTH constexpr int cluster_rows() const { return cluster * tile_n; }
  // All rows are walked for so many tokens at a time (schedule/tile_order.cuh).
  static constexpr int kBandTokens = 2048;
  HEDDLE_BOTH constexpr bool shares_tiles() const { return sharing != TileSharing::kNone; }
  HEDDLE_BOTH constexpr bool shares_in_pairs() const { return sharing == TileSharing::kPairs; }
  // Thread blocks that exchange sums have barriers for it.
  HEDDLE_BOTH constexpr int exchange_barriers() const {
    return shares_in_pairs() ? warpgroups + 1 : 0;
  }
  // Whether two warpgroups ping-pong, i.e. pass the tensor cores to each other: one scales the sums
  // of its groups while the other's products run. Else both would wait for products at the same
  // time. Of two operands of eight bits they are left to alternate by themselves, but where scales
  // are found: these may make both begin the next tile together.
  HEDDLE_BOTH constexpr bool ping_pongs() const {
    return byte_tokens() && (!byte_operands() || epilogue.finds_scales) && has_group_sums() &&
           warpgroups == 2 && !splits_columns() && tile_m > kRowTile;
  }

  // ---- A stage of the ring ----

  // Tokens are copied in boxes of 128 bytes, of all tokens of a tile or half of them.
  HEDDLE_BOTH constexpr int box_tokens() const { return tile_m < 96 ? tile_m : tile_m / 2; }
  // A launch of fewer tokens has boxes of so many.
  HEDDLE_BOTH constexpr bool fits_box() const { return box_tokens() == tile_m; }
  // A stage: tokens [boxes of columns][tile_m][128 bytes], each token's swizzled; weights
  // [tile_n / 16][stage_chunks] chunks, or of one the words of half of its columns and all of its
  // scales and zero points; of byte_operands() [stage_chunks][tile_n][128 bytes], swizzled.
  HEDDLE_BOTH constexpr int column_boxes() const {
    return (byte_tokens() ? 1 : 2) * stage_chunks / (half_stages ? 2 : 1);
  }
  HEDDLE_BOTH constexpr int token_bytes() const { return column_boxes() * tile_m * 128; }
  HEDDLE_BOTH constexpr int half_word_bytes() const { return 128 * weights.bits; }
  HEDDLE_BOTH constexpr int row_block_bytes() const {
    return stage_chunks * weights.chunk_bytes - (half_stages ? half_word_bytes() : 0);
  }
  HEDDLE_BOTH constexpr int weight_bytes() const {
    return tile_n / Chunk::kRows * row_block_bytes();
  }
  // The tokens' factors of a stage: [stage_chunks][boxes][box_tokens] words, boxes padded.
  HEDDLE_BOTH constexpr int factor_box_bytes() const {
    return (4 * box_tokens() + 127) / 128 * 128;
  }
  HEDDLE_BOTH constexpr int factor_bytes() const {
    return scales_blocks() ? stage_chunks * (tile_m / box_tokens()) * factor_box_bytes() : 0;
  }
  HEDDLE_BOTH constexpr int stage_bytes() const {
    return token_bytes() + weight_bytes() + factor_bytes();
  }

  // ---- How a tile ends (the policies of store.cuh) ----

  // Sums that need no bias, residual or scale of their own become outputs in registers, by rounding
  // or, with gates and ups, which one lane has, by the activation too.
  HEDDLE_BOTH constexpr bool rounds_first() const {
    return scaling.mode != ScaleMode::kChannel && !weights.tensor_scale &&
           (epilogue.is_plain() || (epilogue.gated && epilogue.rounds_sums())) &&
           has_small_passes() && tile_m >= 32;
  }
  // Whether a thread makes outputs of its sums in registers and finds the scales of 128 outputs
  // from there (found_rows.cuh, found_tokens.cuh). A bias, a residual or scales of rows would have
  // to come to it: then outputs are made twice, behind shared memory (found_scales.cuh).
  HEDDLE_BOTH constexpr bool finds_in_registers() const {
    return epilogue.finds_scales && epilogue.only_scales() && tile_m >= 32 &&
           scaling.mode != ScaleMode::kChannel && !weights.tensor_scale;
  }
  // Whether tokens, not rows of W, are the rows of the matrix instruction (bytes.cuh says why). A
  // warpgroup has half of the tokens and all rows, and its sums become outputs in registers.
  HEDDLE_BOTH constexpr bool has_token_rows() const {
    const bool two_tiles = tile_m == 4 * kRowTile && tile_n == 2 * kRowTile;
    const bool one_tile = tile_m == 2 * kRowTile && !splits_columns();
    return scales_blocks() && (two_tiles || one_tile) && (rounds_first() || finds_in_registers());
  }
  HEDDLE_BOTH constexpr TileEnd tile_end() const {
    if (finds_in_registers()) return has_token_rows() ? TileEnd::kFoundTokens : TileEnd::kFoundRows;
    if (epilogue.finds_scales) return TileEnd::kFoundScales;
    if (has_token_rows()) return TileEnd::kTokenRows;
    return rounds_first() ? TileEnd::kRounded : TileEnd::kFloats;
  }
  // With finds_scales: rows of packed weights whose outputs of a token share a scale.
  HEDDLE_BOTH constexpr int scale_rows() const { return epilogue.scale_rows(); }
  // Whether a warpgroup has whole groups of outputs. If not, all warpgroups of a block have to
  // finish a tile together.
  HEDDLE_BOTH constexpr bool has_own_groups() const {
    return !epilogue.finds_scales || has_token_rows() || tile_n / warpgroups % scale_rows() == 0;
  }

  // ---- A warpgroup's sums on their way to Y ----

  // Tokens whose sums a warpgroup ends with, and a thread's sums of them in each row tile.
  HEDDLE_BOTH constexpr int own_tokens() const { return splits_columns() ? tile_m / 2 : tile_m; }
  HEDDLE_BOTH constexpr int own_sums() const { return own_tokens() / 2; }
  // Sums on their way to Y: for each warpgroup [pass_tokens()][kPassRow] floats; the padding
  // spreads the banks. What many tokens leave beside three stages is half as much, and so is what
  // each of four gets; with byte_tokens() the rest is for stages. Or those that it gives to the
  // other warpgroup, as they lie in its registers.
  static constexpr int kPassRow = kRowTile + 4;
  HEDDLE_BOTH constexpr bool has_small_passes() const {
    return has_many_tokens() || has_four() || (byte_tokens() && !splits_columns());
  }
  HEDDLE_BOTH constexpr int pass_tokens() const {
    return min_of(own_tokens(), has_small_passes() ? rounded_tokens() / 2 : 32);
  }
  // Outputs of rounds_first() on their way to Y, 16 bits each: [rounded_tokens()][kRoundedRow].
  // Each pass waits for the warps twice; codes of eight bits, whose tiles take half as long, have
  // half as many passes.
  HEDDLE_BOTH constexpr int rounded_tokens() const {
    return (byte_tokens() && has_many_tokens()) || has_token_rows() ? 64 : 32;
  }
  static constexpr int kRoundedRow = kRowTile + 8;
  // Codes on their way to Y where finds_in_registers(): two passes of a warpgroup,
  // [rounded_tokens()][kCodeRow] bytes each; of tokens that are rows 16 of each warp,
  // [16][kTokenCodeRow].
  static constexpr int kCodeRow = kRowTile + 16;
  static constexpr int kTokenCodeRow = 2 * kRowTile + 16;
  HEDDLE_BOTH constexpr int code_bytes() const {
    return has_token_rows() ? kRowTile * kTokenCodeRow : 2 * rounded_tokens() * kCodeRow;
  }
  HEDDLE_BOTH constexpr int pass_bytes() const {
    if (finds_in_registers()) return code_bytes();
    const int half_sum_bytes = splits_columns() ? 4 * 128 * own_sums() : 0;
    return has_small_passes() ? 2 * rounded_tokens() * kRoundedRow
                              : max_of(4 * pass_tokens() * kPassRow, half_sum_bytes);
  }
  // With finds_scales: the largest magnitude of each 64 rows of a token; with finds_in_registers()
  // what the outputs of each group are multiplied by, but of tokens that are rows, whose threads
  // know it.
  HEDDLE_BOTH constexpr int magnitude_bytes() const {
    if (!epilogue.finds_scales || has_token_rows()) return 0;
    return 4 * tile_m * (finds_in_registers() ? tile_n / scale_rows() : tile_n / kRowTile);
  }
  // The scale of each of a warpgroup's tokens, then its zero point.
  HEDDLE_BOTH constexpr int token_value_bytes() const {
    return !byte_tokens() || scales_blocks() ? 0 : 4 * (token_zeros ? 2 : 1) * own_tokens();
  }

  // ---- Shared memory ----

  // In this order: tokens, weights and factors of all stages, sums on their way to Y, the tokens'
  // values, magnitudes of outputs, barriers.
  HEDDLE_BOTH constexpr int weight_offset() const { return stages * token_bytes(); }
  HEDDLE_BOTH constexpr int factor_offset() const {
    return weight_offset() + stages * weight_bytes();
  }
  HEDDLE_BOTH constexpr int pass_offset() const {
    return factor_offset() + stages * factor_bytes();
  }
  HEDDLE_BOTH constexpr int token_value_offset() const {
    return pass_offset() + warpgroups * pass_bytes();
  }
  HEDDLE_BOTH constexpr int magnitude_offset() const {
    return token_value_offset() + warpgroups * token_value_bytes();
  }
  HEDDLE_BOTH constexpr int barrier_offset() const {
    return magnitude_offset() + magnitude_bytes();
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return barrier_offset() + 2 * stages * 8 + 8 * warpgroups + 8 * exchange_barriers() +
           (ping_pongs() ? 8 * warpgroups : 0);
  }

  HEDDLE_FIELDS(weights, scaling, epilogue, operands, promotes, scale_per_token, token_zeros,
                e8m0_scales, tile_m, tile_n, stage_chunks, half_stages, stages, stages_ahead,
                warpgroups, cluster, sharing, step_tiles, ends)
};

}  // namespace heddle::device
