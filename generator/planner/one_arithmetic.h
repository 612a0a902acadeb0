// The choice of kernels for a batch-invariant spec: all of one arithmetic (Family::arithmetic()),
// so that a token has the same bits of Y whichever of them a launch takes.
#ifndef HEDDLE_GENERATOR_PLANNER_ONE_ARITHMETIC_H_
#define HEDDLE_GENERATOR_PLANNER_ONE_ARITHMETIC_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "generator/planner/candidate_times.h"
#include "generator/planner/predicted_times.h"

namespace heddle {

bool is_batch_invariant(const Spec& spec);

// Family::arithmetic() of a kernel that is the plan's or could be.
std::optional<std::string> arithmetic_of(const Plan& plan, const PlannedKernel& kernel);

// As choose_kernels(): of each arithmetic with candidates for every step the kernels that serve the
// steps best, and of those the ones that take the least time (weighted_time()). Throws
// Error(kUnsupported), with the sizes that there are kernels for, where no arithmetic has
// candidates for every step.
std::vector<Candidate> choose_of_one_arithmetic(const Plan& plan, const StepCandidates& steps,
                                                std::size_t most);

// A sentence on a plan of such a spec. Precondition: it has kernels.
std::string arithmetic_reason(const Plan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_ONE_ARITHMETIC_H_
