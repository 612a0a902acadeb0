// A matrix in tiles: what the kernels that read or write W[N, K] have in their configurations.
#pragma once

#include "config/config.h"

namespace heddle::device {

// One thread block to a tile.
struct MatrixTiles {
  int n;        // rows of W
  int k;        // columns of W
  int rows;     // of a tile
  int columns;  // of a tile

  HEDDLE_BOTH constexpr int row_tiles() const { return static_cast<int>(ceil_div(n, rows)); }
  HEDDLE_BOTH constexpr int column_tiles() const { return static_cast<int>(ceil_div(k, columns)); }
  // Whether no tile reaches past the last row.
  HEDDLE_BOTH constexpr bool whole_rows() const { return n % rows == 0; }

  HEDDLE_FIELDS(n, k, rows, columns)
};

}  // namespace heddle::device
