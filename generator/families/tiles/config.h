#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_CONFIG_H_

#include "generator/families/gemm_config.h"
#include "tiles/config.h"

namespace heddle {

// The members that sizes in shared memory depend on; those of the spec alone are not set.
device::TilesConfig tiles_sizes(const WeightLayout& layout, const GemmVariant& variant);

// What the planner has settled as the kernel's configuration, without the scales' powers of two.
device::TilesConfig tiles_config(const GemmSpec& spec, const WeightLayout& layout,
                                 const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_CONFIG_H_
