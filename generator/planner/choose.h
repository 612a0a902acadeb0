// The choice of kernels for a GEMM: candidates of every family, their predicted times, the fastest.
#ifndef HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
#define HEDDLE_GENERATOR_PLANNER_CHOOSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/gemm_family.h"
#include "generator/planner/ranges.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// A candidate with its predicted time for some M.
struct Candidate {
  PlannedKernel kernel;
  double us = 0;
};

// Numbers of tokens that kernels are chosen for, ascending, the last is m_max: between two of them
// the same kernel serves.
std::vector<std::int64_t> token_steps(std::int64_t m_min, std::int64_t m_max);

// The plan with a spec for these M alone.
Plan with_range(const Plan& plan, const MRange& m);

// Every candidate for a range of M, predicted for its last by the plan's costs, the fastest first;
// the same for the same plan. Precondition: a gemm's plan whose spec, target, decode and layout are
// set.
std::vector<Candidate> gemm_candidates(const Plan& plan, const MRange& m);

// Kernels for all M of the spec, ascending: best_ranges() of the predicted times, `most` of them at
// most, but where the path that the spec asks for serves, no other does. Throws Error(kUnsupported)
// with every reason why an M has no candidate.
std::vector<Candidate> choose_kernels(const Plan& plan, std::size_t most = kMostKernels);

// The candidate as a kernel of the plan.
PlannedKernel planned_kernel(const Plan& plan, PlannedKernel candidate, std::string name);

// The predicted time of a planned kernel, by the plan's costs. Preconditions: it is one of a gemm's
// plan and serves m.
double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m);

// GemmFamily::label() of it.
std::string kernel_label(const PlannedKernel& kernel);

// Candidates of a step, the fastest first, that may serve smaller M than those of the step, too.
inline constexpr std::size_t kMostExtended = 32;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
