// The ring of stages of a GEMM with wgmma: how long it is, and how much of it is asked for before
// the tokens are there.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_

#include "generator/families/fields.h"
#include "generator/families/warpgroup/kernel.h"
#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

// Sets as many stages as fit, or as many as the user wants, and how many of them are ahead of the
// tokens.
void set_wgmma_ring(const GemmSpec& spec, const Target& target, device::WarpgroupConfig& config);

// Has blocks share tiles in pairs, too, with a ring for that; not where pairs have no room.
// Precondition: the config has a ring, and blocks share tiles.
void wgmma_share_in_pairs(const GemmSpec& spec, const Target& target, WarpgroupKernel& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_
