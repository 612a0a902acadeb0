// The kernels that the planner could have chosen: what a sweep measures its choice against.
#ifndef HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
#define HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// The step of M that m lies in, of those that kernels are chosen for. Precondition: m is inside
// shape.m.
MRange step_of(const GemmShape& shape, std::int64_t m);

// Whether two kernels of a plan are one but for their names and the numbers of tokens that they
// serve. Kernels of one label may differ: some are compiled for the last M of their step.
bool is_same_kernel(const PlannedKernel& a, const PlannedKernel& b);

// Whether two kernels have the same launch and label: they may be compiled for other numbers of
// tokens.
bool is_same_configuration(const PlannedKernel& a, const PlannedKernel& b);

// A plan with one kernel, which serves the step of M that m lies in, and its predicted time at m.
struct CandidatePlan {
  Plan plan;
  double us = 0;
};

// First the plan's own kernel for m, then every other candidate for m, the predicted fastest first.
// Preconditions: a gemm's plan, M inside shape.m.
std::vector<CandidatePlan> candidate_plans(const Plan& plan, std::int64_t m);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CANDIDATES_H_
