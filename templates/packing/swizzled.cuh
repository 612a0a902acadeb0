// Packed weights in the order swizzle_128b, whose chunks are rows of codes: docs/layouts.md has the
// bytes.
#pragma once

#include "packing/config.h"
#include "primitives/types.cuh"

namespace heddle {

// A row of a chunk has eight units of 16 codes. Where one lies, in bytes from the chunk's first:
// permuted as the 128-byte swizzle of tensor copies does it.
__device__ __forceinline__ constexpr int swizzled_unit(int row, int unit) {
  return row * Chunk::kColumns + 16 * (unit ^ (row & 7));
}

// Where the scale lies that rows of a tile of kTileRows packed rows have in chunk `c`: those whose
// place in their row block is below 8 (`half` 0), or the others.
template <class Config>
__device__ __forceinline__ i64 block_scale_offset(int tile, int c, int half) {
  constexpr PackedLayout kPacked = Config::value.packed;
  return kPacked.channel_offset +
         (static_cast<i64>(tile) * kPacked.chunks + c) * kPacked.block_bytes + 4 * half;
}

}  // namespace heddle
