// The kernels that the planner could have chosen: what a sweep measures its choice against.
#ifndef HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
#define HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// The step that the size lies in, of those that kernels are chosen for. Precondition: it is one of
// the spec's.
MRange step_of(const Plan& plan, std::int64_t size);

// Whether two kernels of a plan are one but for their names and the sizes that they serve. Kernels
// of one label may differ: some are compiled for the last M of their step.
bool is_same_kernel(const PlannedKernel& a, const PlannedKernel& b);

// Whether two kernels have the same launch and label: they may be compiled for other numbers of
// tokens.
bool is_same_configuration(const PlannedKernel& a, const PlannedKernel& b);

// A plan with one kernel, which serves the step that a size lies in, and its predicted time for
// that.
struct CandidatePlan {
  Plan plan;
  double us = 0;
};

// First the plan's own kernel for a launch, then every other candidate for it, the predicted
// fastest first. Precondition: the size is one of the spec's.
std::vector<CandidatePlan> candidate_plans(const Plan& plan, const LaunchSize& size);
inline std::vector<CandidatePlan> candidate_plans(const Plan& plan, std::int64_t m) {
  return candidate_plans(plan, LaunchSize{m});
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
