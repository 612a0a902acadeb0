// Tiles whose warps load and decode ahead of what they multiply
// (templates/tiles/multiply_wide.cuh).
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_READ_AHEAD_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_READ_AHEAD_H_

#include "generator/families/fields.h"
#include "heddle/spec.h"
#include "tiles/config.h"

namespace heddle {

// Whether this tile, with its stages, can be multiplied so.
bool can_read_ahead(const WeightSpec& weight, const device::TilesConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_READ_AHEAD_H_
