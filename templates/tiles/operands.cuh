// Where the operands of a thread block's tile lie in global memory.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

struct TileOperands {
  const u8* weights;    // first chunk of the tile's first row block
  const u8* tokens;     // first row of X of the tile
  const u8* pre_scale;  // factors of the columns of X
  int row_blocks;       // from the tile's first to the end of W
  int rows;             // from the tile's first to the end of X
};

}  // namespace heddle
