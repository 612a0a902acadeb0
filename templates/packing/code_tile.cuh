// A tile of W's codes in shared memory, on their way into packed chunks.
#pragma once

#include "packing/config.h"
#include "primitives/memory.cuh"
#include "primitives/types.cuh"

namespace heddle {

// Rows of 128 codes, a byte each. A row is eight units of 16 bytes: unit 4 * (column / 64) + t has
// all that lane 4g + t of a warp packs from 64 columns of the row. It is four registers, one for
// each k tile, with columns 2t, 2t + 8, 2t + 1 and 2t + 9 of the tile in ascending bytes: what
// Encode::unit takes.
struct CodeTile {
  static constexpr int kRowBytes = Chunk::kColumns;

  u32 shared;

  // Units are permuted so that eight accesses of 16 bytes that are made together lie in different
  // banks: the same unit of eight neighbouring rows, or of rows eight apart, and four neighbouring
  // units of two neighbouring rows.
  __device__ __forceinline__ u32 unit(int row, int unit) const {
    const int place = unit ^ (row << 2 & 4) ^ (row >> 1 & 3) ^ (row >> 3 & 7);
    return shared + row * kRowBytes + place * 16;
  }
};

}  // namespace heddle
