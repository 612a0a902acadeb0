// Which tile of W a block has.
#pragma once

#include "primitives/memory.cuh"

namespace heddle {

// Neighbouring blocks, which run at the same time, take neighbouring columns: together they write
// whole rows of W, which the memory likes better than pieces of many rows.
template <class Config>
struct TilePlace {
  int row, column;  // the tile's first

  static __device__ __forceinline__ TilePlace of_block() {
    constexpr u32 kColumnTiles = (Config::kK + Config::kTileColumns - 1) / Config::kTileColumns;
    const u32 tile = blockIdx.y * gridDim.x + blockIdx.x;
    return {static_cast<int>(tile / kColumnTiles) * Config::kTileRows,
            static_cast<int>(tile % kColumnTiles) * Config::kTileColumns};
  }
};

// Eight weights of one row to W[row, column].
template <class Config>
__device__ __forceinline__ void store_weights(u8* w, int row, int column, u32x4 weights) {
  store_global_16(w + 2 * (static_cast<i64>(row) * Config::kK + column), weights);
}

}  // namespace heddle
