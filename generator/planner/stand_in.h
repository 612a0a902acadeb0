// Stand-ins: kernels for every size of a spec while some of its plan's kernels are still being
// compiled.
#ifndef HEDDLE_GENERATOR_PLANNER_STAND_IN_H_
#define HEDDLE_GENERATOR_PLANNER_STAND_IN_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// In StandIn::code: the code of StandIn::general.
inline constexpr std::size_t kGeneralCode = SIZE_MAX;

struct StandIn {
  // As the complete plan, but with other kernels for its sizes: some of its own, whose ranges may
  // be wider here, and the general one.
  Plan plan;
  // For each kernel of `plan`, counted through as Plan::kernel() does: the number of the complete
  // plan's kernel whose code it has, or kGeneralCode. Ranges do not change code.
  std::vector<std::size_t> code;
  // A plan of one kernel that serves every M of the spec and is none of the complete plan's;
  // nothing where the stand-in has no need of it. What it renders to is the general code.
  std::optional<Plan> general;
};

// Which kernels of the plan a launch with a size in `urgent` needs, by number: those whose range
// has such a size, those that run before every size, and all of a spec without a range of M.
std::vector<bool> kernels_for(const Plan& plan, const MRange& urgent);

// Kernels of at most one code beside those that are `at_hand`, a flag for each kernel of the plan.
// Kernels at hand keep their ranges. The other ranges have, in this order,
//   a kernel at hand that serves them, too: of larger sizes if there is one, else of smaller ones;
//   the plan's first kernel whose code takes any M, but none of the path hopper, whose wgmma
//   kernels
//     take longest to compile;
//   the general kernel: a tile of 64 tokens on mma.sync, which the compiler is done with soonest
//     of those that read the weights no more than once for 64 tokens;
//   where no such tile can be built, the plan's kernel for the most tokens.
// A spec that sets a tile or a path has its own kernels instead of the last three. `code` says what
// is to be compiled although it is not at hand. Precondition: a plan of resolve().
StandIn stand_in(const Plan& plan, const std::vector<bool>& at_hand);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_STAND_IN_H_
