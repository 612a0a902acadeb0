// The configurations of dequantize_packed.cuh, dequantize_swizzled.cuh, dequantize_gptq.cuh and
// dequantize_awq.cuh.
#pragma once

#include "config/matrix_tiles.h"
#include "packing/config.h"

namespace heddle::device {

constexpr int kDequantizeWarps = 4;  // of a thread block

HEDDLE_ENUM(ZeroKind,
            kNone,    // codes say it themselves, or the spec has a fixed one
            kInt,     // codes, which decoding subtracts
            kFloat);  // of the scales' type, subtracted before the product

// How the product of a code and its scales is rounded once.
HEDDLE_ENUM(ScaleProduct,
            kPacked,  // the scale has the type of W: two products in one 16-bit instruction
            kExact,   // FP32 holds the product with the group's scale exactly
            kToOdd);  // FP32 rounds it to odd, so that only the conversion to 16 bits rounds

// From decoded codes to weights: what scale.cuh reads.
struct WeightScaling {
  ZeroKind zero;
  int code_bias;  // what the decode plan subtracts although the spec does not name it
  ScaleProduct product;
  bool tensor_scale;  // the whole tensor has a scale; the product is not kPacked then

  HEDDLE_FIELDS(zero, code_bias, product, tensor_scale)
};

// From Heddle's packed weights. A warp takes a chunk, 16 rows by 128 columns.
struct DequantizePackedConfig {
  MatrixTiles tiles;
  WeightScaling scaling;
  PackedLayout packed;
  bool permuted;  // act-order: packed column j is column order[j] of W

  // A row of a chunk in shared memory, 16-bit weights; the padding spreads the banks.
  static constexpr int kRowPitch = 2 * Chunk::kColumns + 16;
  static constexpr int kWarpBytes = Chunk::kRows * kRowPitch;

  HEDDLE_BOTH constexpr int threads() const { return 32 * kDequantizeWarps; }
  HEDDLE_BOTH constexpr int shared_bytes() const { return kDequantizeWarps * kWarpBytes; }

  HEDDLE_FIELDS(tiles, scaling, packed, permuted)
};

// From Heddle's packed weights in the order swizzle_128b. A warp takes a chunk; a lane takes eight
// columns of rows that are two apart.
struct DequantizeSwizzledConfig {
  MatrixTiles tiles;
  WeightScaling scaling;
  PackedLayout packed;

  static constexpr int kLaneColumns = 8;
  static constexpr int kLanesK = Chunk::kColumns / kLaneColumns;
  static constexpr int kStepRows = 32 / kLanesK;
  static constexpr int kSteps = Chunk::kRows / kStepRows;

  HEDDLE_BOTH constexpr int threads() const { return 32 * kDequantizeWarps; }
  HEDDLE_BOTH constexpr int shared_bytes() const { return 0; }

  HEDDLE_FIELDS(tiles, scaling, packed)
};

// From GPTQ's tensors. A unit is the shortest run of a row's codes that is whole words; a lane
// takes units of four neighbouring rows.
struct DequantizeGptqConfig {
  MatrixTiles tiles;
  WeightScaling scaling;
  int bits;          // of a code
  int unit;          // columns of a unit, whole runs of eight
  int group_size;    // columns that share a scale
  int group_offset;  // the column of its first group at which W begins
  int zero_bias;     // 1: GPTQ's first version, which stores zero points less one
  bool act_order;    // each column has a group of its own

  static constexpr int kLaneRows = 4;
  static constexpr int kLanesN = 2;
  static constexpr int kLanesK = 16;
  static constexpr int kWarpRows = kLanesN * kLaneRows;

  // Units that a lane loads before it decodes the first.
  HEDDLE_BOTH constexpr int steps() const { return act_order || unit > 8 ? 1 : 2; }
  HEDDLE_BOTH constexpr int step_columns() const { return kLanesK * unit; }
  HEDDLE_BOTH constexpr int warp_columns() const { return steps() * step_columns(); }
  // Whether runs of so many columns, counted from column 0, are of one group each.
  HEDDLE_BOTH constexpr bool runs_lie_in_groups(int columns) const {
    return group_size % columns == 0 && group_offset % columns == 0;
  }
  HEDDLE_BOTH constexpr GptqZeroBias stored_zeros() const { return {bits, zero_bias}; }
  HEDDLE_BOTH constexpr int threads() const { return 32 * kDequantizeWarps; }
  HEDDLE_BOTH constexpr int shared_bytes() const { return 0; }

  HEDDLE_FIELDS(tiles, scaling, bits, unit, group_size, group_offset, zero_bias, act_order)
};

// From AWQ's tensors of 4 bits. A word has the codes of eight rows in one column; a lane takes two
// neighbouring words of eight columns.
struct DequantizeAwqConfig {
  MatrixTiles tiles;
  WeightScaling scaling;
  int group_size;    // columns that share a scale
  int group_offset;  // the column of its first group at which W begins

  static constexpr int kBits = 4;
  static constexpr int kWordRows = 32 / kBits;
  static constexpr int kLaneWords = 2;
  static constexpr int kLaneColumns = 8;
  static constexpr int kLanesN = 4;
  static constexpr int kLanesK = 8;
  static constexpr int kWarpRows = kLanesN * kLaneWords * kWordRows;
  static constexpr int kWarpColumns = kLanesK * kLaneColumns;

  HEDDLE_BOTH constexpr int threads() const { return 32 * kDequantizeWarps; }
  HEDDLE_BOTH constexpr int shared_bytes() const { return 0; }

  HEDDLE_FIELDS(tiles, scaling, group_size, group_offset)
};

}  // namespace heddle::device
