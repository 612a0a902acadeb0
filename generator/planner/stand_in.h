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
  // As the complete plan, but with fewer kernels for its sizes: some of its own, which may serve
  // other ranges here, and the general one.
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

// Kernels of at most one code that is not among those `at_hand`, a flag for each kernel of the
// plan. A kernel at hand serves its own range, and may serve others, too. Each other range has the
// first of these that there is:
// 1. a kernel at hand that can serve it: one of larger sizes before one of smaller sizes;
// 2. the plan's first kernel whose code takes any M, but none of the path hopper, whose wgmma
//    kernels take longest to compile;
// 3. the general kernel: a tile of 64 tokens on mma.sync, which the compiler is done with soonest
//    of those that read the weights no more than once for 64 tokens;
// 4. where no such tile can be built, or it adds in another way than the kernels of a
//    batch-invariant plan, the plan's kernel for the most tokens.
// A spec that sets a tile or a path has its own kernels instead of 2 to 4. `code` says what is to
// be compiled although it is not at hand. Precondition: a plan of resolve().
StandIn stand_in(const Plan& plan, const std::vector<bool>& at_hand);

// The stand-in, which also flags in `at_hand` the plan's kernels that it needs. Nothing if all
// kernels are at hand.
std::optional<StandIn> add_stand_in(const Plan& plan, std::vector<bool>* at_hand);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_STAND_IN_H_
