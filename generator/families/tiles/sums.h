// The sums of a tile in the registers of its warps, and where the scales of groups go.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_

#include "generator/families/scale_mode.h"
#include "heddle/inspect/plan.h"
#include "tiles/config.h"

namespace heddle {

// Registers of a thread for sums, those of unscaled groups included.
int sum_registers(const device::TilesConfig& config);

// Whether the registers of a warp hold the sums of a group and all others, as scales on sums want.
bool has_room_for_partial_sums(const device::TilesConfig& config);

// Whether the registers of a warp hold both in a tile that bulk copies feed.
bool has_room_for_bulk_sums(const device::TilesConfig& config);

// Whether the compiler has registers for the sums, codes, addresses and what is loaded ahead. The
// shares of `registers`, those of a thread, were found by compiling (CompileMatrix, of every
// kernel).
bool fits_registers(const device::TilesConfig& config, const GemmSpec& spec, int registers);
// Whether two thread blocks of an SM may share its registers. Rows of whole groups of outputs are
// many to a warp, whose codes and scales take registers, too.
bool two_may_share_registers(const device::TilesConfig& config, const GemmSpec& spec);
// Whether a tile that fits_registers() refuses is built where there is no other. A tile of whole
// groups of outputs is built only where the spec sets it: else it has fewer tokens.
bool may_lack_registers(const device::TilesConfig& config, const GemmSpec& spec, int registers);

// The mode for this tile, whatever its own is.
ScaleMode tiles_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                           const device::TilesConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_SUMS_H_
