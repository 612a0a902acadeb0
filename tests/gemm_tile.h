// A tile that a test asks for.
#ifndef HEDDLE_TESTS_GEMM_TILE_H_
#define HEDDLE_TESTS_GEMM_TILE_H_

#include "heddle/spec.h"

namespace heddle {

// Rows of a block, columns of a stage, warps along N and K.
inline TileSpec tile_of(int rows, int columns, int warps_n, int warps_k) {
  TileSpec tile;
  tile.n = rows;
  tile.k = columns;
  tile.warps_n = warps_n;
  tile.warps_k = warps_k;
  return tile;
}

// Tokens and rows of a tile, columns of a stage, and the warps that share them; K is not split.
inline TileSpec mma_tile(int m, int n, int k, int warps_m, int warps_n, int warps_k) {
  TileSpec tile;
  tile.m = m;
  tile.n = n;
  tile.k = k;
  tile.warps_m = warps_m;
  tile.warps_n = warps_n;
  tile.warps_k = warps_k;
  tile.split_k = 1;
  return tile;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GEMM_TILE_H_
