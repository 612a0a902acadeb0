// Which tile of W a block has.
#pragma once

#include "config/matrix_tiles.h"
#include "primitives/types.cuh"

namespace heddle {

// Neighbouring blocks, which run at the same time, take neighbouring columns: together they write
// whole rows of W, which the memory likes better than pieces of many rows.
template <class Config>
struct TilePlace {
  int row, column;  // the tile's first

  static __device__ __forceinline__ TilePlace of_block() {
    constexpr u32 kColumnTiles = Config::value.tiles.column_tiles();
    const u32 tile = blockIdx.y * gridDim.x + blockIdx.x;
    return {static_cast<int>(tile / kColumnTiles) * Config::value.tiles.rows,
            static_cast<int>(tile % kColumnTiles) * Config::value.tiles.columns};
  }
};

// Where W[row, column] lies; others are a constant number of bytes away, `weights_apart`.
template <class Config>
__device__ __forceinline__ u8* weight_address(u8* w, int row, int column) {
  return w + 2 * (static_cast<i64>(row) * Config::value.tiles.k + column);
}
template <class Config>
__device__ __forceinline__ constexpr i64 weights_apart(int rows, int columns) {
  return 2 * (static_cast<i64>(rows) * Config::value.tiles.k + columns);
}

}  // namespace heddle
