// What all kernels that write packed weights share.
#ifndef HEDDLE_GENERATOR_RENDER_PACKING_KERNEL_H_
#define HEDDLE_GENERATOR_RENDER_PACKING_KERNEL_H_

#include <string>
#include <string_view>

#include "generator/render/config.h"
#include "heddle/plan.h"
#include "heddle/source.h"

namespace heddle {

// The members that templates/packing/chunk.cuh reads, and the tile of `kernel`.
void add_packing_members(const Plan& plan, const TileKernel& kernel, ConfigWriter& config);

// The kernel, with `config` before the text that packs codes; `parameters` and `call` as of
// entry_text().
Source packing_source(const Plan& plan, const TileKernel& kernel, std::string_view template_path,
                      const std::string& config, const std::string& parameters,
                      const std::string& call);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_PACKING_KERNEL_H_
