// Columns of a stage and the warps that share them, the rows and the tokens of a tile.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_

#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct TilesWarps {
  int columns, n, k;
  int m = 1;
};

// Those worth a candidate, with what the tile sets; `bulk`: of tiles that bulk copies feed.
// `any_tile`: also more or fewer of them than are ever fast.
std::vector<TilesWarps> tiles_warps(const TileSpec& tile, bool bulk, bool any_tile);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_
