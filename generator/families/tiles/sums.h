// The sums of a tile in the registers of its warps, and where the scales of groups go.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_

#include "generator/families/scale_mode.h"
#include "heddle/inspect/plan.h"
#include "tiles/config.h"

namespace heddle {

// Registers of a thread for sums, those of unscaled groups included.
int sum_registers(const device::TilesConfig& config);

// Whether the registers of a warp hold the sums of a group beside all others, as scales on sums
// want.
bool has_room_for_partial_sums(const device::TilesConfig& config);

// The same of a tile that bulk copies feed.
bool has_room_for_bulk_sums(const device::TilesConfig& config);

// The mode for this tile, whatever its own is.
ScaleMode tiles_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                           const device::TilesConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_
