// What all kernels that write packed weights share.
#ifndef HEDDLE_GENERATOR_FAMILIES_PACKING_KERNEL_H_
#define HEDDLE_GENERATOR_FAMILIES_PACKING_KERNEL_H_

#include <string>
#include <string_view>

#include "generator/families/tile_kernel.h"
#include "generator/render/config.h"
#include "heddle/plan.h"

namespace heddle {

// The members that templates/packing/chunk.cuh reads, and the tile of `kernel`.
void add_packing_members(const Plan& plan, const TileKernel& kernel, ConfigWriter& config);

// The text of the kernel: `config` before what packs codes.
KernelText packing_text(const Plan& plan, const TileKernel& kernel, std::string_view template_path,
                        const std::string& config, std::string function);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_PACKING_KERNEL_H_
