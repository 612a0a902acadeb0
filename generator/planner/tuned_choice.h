// The choice of a GEMM's kernels with a table of measured ones: an entry's kernel where the table
// has one that the spec can have, the choice by predicted times in between.
#ifndef HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_
#define HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_

#include <string>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/plan.h"
#include "heddle/tuned.h"

namespace heddle {

struct TunedChoice {
  // Kernels for all M of the spec, ascending. Where one serves a measured range and a range beside
  // it, it has both.
  std::vector<Candidate> kernels;
  // A sentence for each range that was chosen by itself and each entry that could not be used.
  std::vector<std::string> reasons;
};

// `table` is of the plan's target, or null. Throws what choose_kernels() throws.
TunedChoice choose_with_table(const Plan& plan, const TunedTable* table);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_
