// What the Configs of all kernels that write packed weights share.
#ifndef HEDDLE_GENERATOR_RENDER_PACKING_CONFIG_H_
#define HEDDLE_GENERATOR_RENDER_PACKING_CONFIG_H_

#include "generator/render/config.h"
#include "heddle/plan.h"

namespace heddle {

// The members that templates/packing/chunk.cuh reads, and the tile of `kernel`.
void add_packing_members(const Plan& plan, const TileKernel& kernel, ConfigWriter& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_PACKING_CONFIG_H_
