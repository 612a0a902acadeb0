// Which candidates of a step of M are worth compiling.
#ifndef HEDDLE_TOOLS_TUNE_SHORTLIST_H_
#define HEDDLE_TOOLS_TUNE_SHORTLIST_H_

#include <cstddef>
#include <vector>

#include "generator/planner/choose.h"

namespace heddle {

// The `most` that are predicted to be the fastest, in that order; but each family's fastest takes
// the place of another family's slowest, as far as there are places: predictions compare kernels of
// one family better than those of two. Precondition: the fastest first; `most` is at least 1.
std::vector<Candidate> shortlist(const std::vector<Candidate>& candidates, std::size_t most);

// A plan of this kernel alone, which may be launched with any M of the spec up to the candidate's
// largest. Precondition: a candidate for the plan.
Plan plan_of_candidate(const Plan& plan, const Candidate& candidate);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_SHORTLIST_H_
