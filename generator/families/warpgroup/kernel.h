// WarpgroupKernel: a kernel with wgmma as the planner has it.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_KERNEL_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_KERNEL_H_

#include <string_view>
#include <type_traits>

#include "generator/families/fields.h"
#include "warpgroup/config.h"

namespace heddle {

// The configuration, which is all that the kernel's text depends on, and what only its launches
// depend on. Kernels of several shapes, and of several ranges of M, may have one text: it is
// compiled once.
struct WarpgroupKernel : device::WarpgroupConfig {
  device::WeightShape shape;
  int tokens;   // of a launch, at most
  int workers;  // thread blocks of a launch, at most

  constexpr bool has_one_token_tile() const { return tokens <= tile_m; }
  constexpr int total_units() const {
    return static_cast<int>(device::ceil_div(shape.chunks, stage_chunks));
  }
  // Sets what the text has of the shape and the tokens. To do once all else is set.
  constexpr void settle() {
    ends = {has_one_token_tile(), shape.n % cluster_rows() != 0, shape.chunks % stage_chunks};
  }

  // In place of HEDDLE_FIELDS, which knows no base.
  template <class Self, class Visitor>
  static constexpr void visit(Self& self, Visitor&& visitor) {
    using Base = std::conditional_t<std::is_const_v<Self>, const device::WarpgroupConfig,
                                    device::WarpgroupConfig>;
    device::WarpgroupConfig::visit(static_cast<Base&>(self), visitor);
    visitor(std::string_view("shape"), self.shape);
    visitor(std::string_view("tokens"), self.tokens);
    visitor(std::string_view("workers"), self.workers);
  }
};
static_assert(families::HasExactly<WarpgroupKernel, 4>, "visit() has the base and every member");

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_KERNEL_H_
