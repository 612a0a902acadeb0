// The configuration of repack.cuh.
#pragma once

#include "config/matrix_tiles.h"
#include "packing/config.h"

namespace heddle::device {

// A checkpoint's format, as far as the kernel reads it differently.
HEDDLE_ENUM(RepackSource, kAwq, kGptq,
            kGptqGather);  // act-order: packed column j is column permutation[j] of the checkpoint

// A tile is the rows of a thread block by one chunk.
struct RepackConfig {
  MatrixTiles tiles;
  PackedLayout packed;
  RepackSource source;
  int zero_bias;  // 1: GPTQ's first version, which stores zero points less one

  // Each thread takes one row of a GPTQ tensor, or eight rows of AWQ and an eighth of the columns.
  HEDDLE_BOTH constexpr int threads() const { return tiles.rows; }
  // The codes of the tile, a byte each.
  HEDDLE_BOTH constexpr int shared_bytes() const { return tiles.rows * tiles.columns; }

  HEDDLE_BOTH constexpr GptqZeroBias stored_zeros() const { return {packed.bits, zero_bias}; }

  HEDDLE_FIELDS(tiles, packed, source, zero_bias)
};

}  // namespace heddle::device
