// Which warps share a tile.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_

#include <vector>

#include "generator/families/mma_tile.h"

namespace heddle {

// Warps that are worth a candidate, with what the tile sets. `bulk`: bulk copies feed the tile.
// `any_tile`: also more or fewer warps than are ever fast.
std::vector<MmaWarps> tiles_warps(const TileSpec& tile, bool bulk, bool any_tile);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_WARPS_H_
