// The candidates of every family of an operation for a range of sizes, and their predicted times.
#ifndef HEDDLE_GENERATOR_PLANNER_CANDIDATE_TIMES_H_
#define HEDDLE_GENERATOR_PLANNER_CANDIDATE_TIMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// A candidate with its predicted time for some size.
struct Candidate {
  PlannedKernel kernel;
  double us = 0;
};

// The sizes that end the steps which kernels are chosen for, ascending: what the families of the
// operation say. Precondition: the range is of the spec.
std::vector<std::int64_t> steps_of(const Plan& plan, const MRange& sizes);

// The plan with a spec for these sizes alone, where a spec names its sizes.
Plan with_range(const Plan& plan, const MRange& sizes);

// Every candidate for a range of sizes, predicted by the plan's costs for the launches that
// Operation::usual_launches() has for it, the fastest first; the same for the same plan.
// Precondition: the plan's spec, target, decode and layout are set.
std::vector<Candidate> all_candidates(const Plan& plan, const MRange& sizes);

// The candidate as a kernel of the plan.
PlannedKernel planned_kernel(const Plan& plan, PlannedKernel candidate, std::string name);

// The predicted time of a launch of a planned kernel, by the plan's costs. Precondition: it is one
// of the plan's or could be, and serves the size.
double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size);
inline double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m) {
  return predicted_us(plan, kernel, LaunchSize{m});
}
// That of the usual launches of these sizes: their geometric mean.
double usual_us(const Plan& plan, const PlannedKernel& kernel, const MRange& sizes);

// Family::label() of it.
std::string kernel_label(const PlannedKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CANDIDATE_TIMES_H_
