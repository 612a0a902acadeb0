// The choice of kernels: of the candidates of every family of the operation those that are
// predicted to be the fastest.
#ifndef HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
#define HEDDLE_GENERATOR_PLANNER_CHOOSE_H_

#include <cstddef>
#include <vector>

#include "generator/planner/candidate_times.h"
#include "generator/planner/ranges.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Kernels for all of these sizes, ascending: best_ranges() of the predicted times, `most` of them
// at most, but where the path that the spec asks for serves, no other does; of a batch-invariant
// spec all of one arithmetic. Throws Error(kUnsupported) with every reason why a size has no
// candidate, and where no arithmetic serves all sizes. Precondition: the spec's sizes, where it
// names any.
std::vector<Candidate> choose_kernels(const Plan& plan, const MRange& sizes,
                                      std::size_t most = kMostKernels);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
