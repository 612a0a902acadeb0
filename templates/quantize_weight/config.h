// The configuration of quantize_weight.cuh, and of quantize_rows.cuh and quantize_blocks.cuh, which
// write codes in the order swizzle_128b.
#pragma once

#include "config/matrix_tiles.h"
#include "packing/config.h"
#include "steps/scale_type.h"

namespace heddle::device {

// Codes that are floats: a sign, so many bits, and the code of the largest finite magnitude.
struct FloatCodes {
  int exponent_bits;
  int mantissa_bits;
  int largest;

  HEDDLE_FIELDS(exponent_bits, mantissa_bits, largest)
};

// Codes that are integers from low to high.
struct IntegerCodes {
  bool asymmetric;  // with a zero point
  int low;
  int high;
  int bias;     // what is added to the integer for its code
  int divisor;  // the scale is the width of a group's range over this

  HEDDLE_FIELDS(asymmetric, low, high, bias, divisor)
};

// A tile is a row block by whole chunks that are whole groups, or a block of W that shares a scale.
struct QuantizeWeightConfig {
  MatrixTiles tiles;
  PackedLayout packed;
  int infinity;   // in the type of W: larger magnitudes are not finite
  int nan_scale;  // the scale of a group with a value that is not finite, as stored
  ScaleType scale_type;
  bool float_codes;
  FloatCodes floats;      // if float_codes
  IntegerCodes integers;  // else

  static constexpr int kChunkThreads = 128;  // 16 columns of a row each
  static constexpr int kMostStepChunks = 4;
  static constexpr int kEntryBytes = 16;  // of shared memory, for a group of a row
  static constexpr int kBlockThreads =
      256;  // of a block that shares a scale: four units of 16 codes each

  HEDDLE_BOTH constexpr int span_chunks() const { return tiles.columns / Chunk::kColumns; }
  // Chunks that a thread block rounds at a time.
  HEDDLE_BOTH constexpr int step_chunks() const { return min_of(span_chunks(), kMostStepChunks); }
  // Groups of a tile, the last of which may end with K.
  HEDDLE_BOTH constexpr int groups() const {
    return static_cast<int>(ceil_div(tiles.columns, packed.group));
  }
  HEDDLE_BOTH constexpr int threads() const {
    return packed.by_blocks() ? kBlockThreads : step_chunks() * kChunkThreads;
  }
  // Shared memory: the codes of step_chunks() chunks where words are made of them, then an entry
  // for each row of each group, or for a block.
  HEDDLE_BOTH constexpr int code_bytes() const {
    const bool stored_as_rows = packed.order == ChunkOrder::kSwizzledRows;
    return stored_as_rows ? 0 : step_chunks() * Chunk::kRows * Chunk::kColumns;
  }
  HEDDLE_BOTH constexpr int entries() const {
    return packed.by_blocks() ? 1 : groups() * Chunk::kRows;
  }
  HEDDLE_BOTH constexpr int shared_bytes() const { return code_bytes() + entries() * kEntryBytes; }

  HEDDLE_FIELDS(tiles, packed, infinity, nan_scale, scale_type, float_codes, floats, integers)
};

}  // namespace heddle::device
