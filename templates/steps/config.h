// What the configurations of all GEMM families have in common: the packed weights, where scales
// go, and what follows the sums.
#pragma once

#include "config/config.h"
#include "config/workspace.h"
#include "packing/chunk_shape.h"
#include "steps/weight_shape.h"

namespace heddle::device {

// Where the scale of a group is applied.
HEDDLE_ENUM(ScaleMode,
            kAccumulator,  // to the group's partial sum, in FP32
            kWeight,       // to the decoded weight, in its own type
            kChannel,      // one scale for each row, in the epilogue
            kProduct,      // with the token's to the sums of all of K, before the epilogue
            kBlock,        // with the token's to the sums of each 128 columns
            kGroup,        // to the group's sum, in FP32; the token's to the sums of all groups
            kTwoLevels,    // an integer of the group's to INT8; the channel's as in kProduct
            kNone);        // nowhere: weights of 16 bits have none

// Float zero points do not touch the weights: they meet the sums, with the sums of the tokens.
HEDDLE_SPEC_ENUM(ZeroPoint, kNone, kInt, kFloat);

HEDDLE_SPEC_ENUM(Activation, kNone, kRelu, kGelu, kGeluTanh, kSilu, kRelu2, kClampedSwiglu, kSitu);

// Packed weights, whatever their shape; docs/layouts.md describes the bytes.
struct PackedWeights {
  int bits;  // of a code
  int chunk_bytes;
  int meta_group;    // columns that share an entry of scales and zero points
  int entry_offset;  // columns by which entry 0 begins before the chunk: W may begin inside of a
                     // group
  int scale_offset;  // in a chunk
  int scale_bytes;   // of an entry, for 16 rows
  ZeroPoint zero_point;
  int zero_offset;          // in a chunk
  int zero_bytes;           // of an entry
  int fixed_bias;           // what decoding takes off an unsigned code
  int channel_bytes;        // of a row block
  int channel_zero_offset;  // in a row block's entries
  int channel_sum_offset;   // the same, of the sums of codes of eight bits
  bool tensor_scale;        // whether there is one
  bool row_lines;           // in TensorRT-LLM's order: a line holds 64 columns of a few rows

  // The entry of a chunk's column.
  HEDDLE_BOTH constexpr int entry(int column) const { return (column + entry_offset) / meta_group; }
  // Entries that a chunk's columns touch.
  HEDDLE_BOTH constexpr int entries() const { return entry(Chunk::kColumns - 1) + 1; }
  // A kernel looks at scales and zero points once for a unit of columns, which are of one entry.
  // Units begin every `unit` columns from where entries begin, and with each run of `run` columns
  // that the kernel walks at once. Both are powers of two, `unit` is at most the run and an entry;
  // what a warp walks is whole runs. `column` is counted from a multiple of `run`.
  HEDDLE_BOTH constexpr bool begins_unit(int column, int unit, int run) const {
    return column % run == 0 || (column + entry_offset) % unit == 0;
  }
  // Whether a unit ends with the k tile of 16 columns at `column`.
  HEDDLE_BOTH constexpr bool ends_unit(int column, int unit, int run) const {
    return begins_unit(column + 16, unit, run);
  }

  HEDDLE_FIELDS(bits, chunk_bytes, meta_group, entry_offset, scale_offset, scale_bytes, zero_point,
                zero_offset, zero_bytes, fixed_bias, channel_bytes, channel_zero_offset,
                channel_sum_offset, tensor_scale, row_lines)
};

struct Scaling {
  ScaleMode mode;
  int result_exponent;  // the power of two that decoded weights lack and their scales do not have
  int scale_exponent;   // the power of two that scales of weights are multiplied by

  HEDDLE_FIELDS(mode, result_exponent, scale_exponent)
};

struct EpilogueConfig {
  int bias_bytes;         // of a value that is added to the sums; 0: there is none
  bool residual;          // added behind the activation
  Activation activation;  // of sums and bias
  bool gated;             // a row block has 8 gates, then the 8 rows that they multiply
  int limit;              // of gates and ups; 0: none
  int gate_limit;         // of kSitu's gates
  int result_bytes;       // of a value of Y
  bool finds_scales;      // of 128 values of Y, which are codes; else codes have a given scale

  // Whether sums are only scaled and rounded to 16 or 8 bits.
  HEDDLE_BOTH constexpr bool is_plain() const {
    return !gated && activation == Activation::kNone && rounds_sums();
  }
  // Whether an output has at most 16 bits and depends on nothing but the sums of its row block.
  HEDDLE_BOTH constexpr bool rounds_sums() const {
    return bias_bytes == 0 && !residual && result_bytes <= 2 && !finds_scales;
  }
  // Whether sums, or gates and ups, are all that outputs depend on whose scale is that of 128, and
  // all that this scale depends on.
  HEDDLE_BOTH constexpr bool only_scales() const {
    return bias_bytes == 0 && !residual && (gated || activation == Activation::kNone);
  }
  // Rows of packed weights whose sums make 8 outputs of a token.
  HEDDLE_BOTH constexpr int rows() const { return gated ? Chunk::kRows : Chunk::kRows / 2; }
  // With finds_scales: rows of packed weights whose outputs of a token share a scale.
  static constexpr int kGroupVectors = 16;  // of 8 outputs
  HEDDLE_BOTH constexpr int scale_rows() const { return kGroupVectors * rows(); }
  // Whether a tile of so many rows has all outputs of its groups.
  HEDDLE_BOTH constexpr bool holds_groups(int tile_rows) const {
    return !finds_scales || tile_rows % scale_rows() == 0;
  }

  HEDDLE_FIELDS(bias_bytes, residual, activation, gated, limit, gate_limit, result_bytes,
                finds_scales)
};

}  // namespace heddle::device
