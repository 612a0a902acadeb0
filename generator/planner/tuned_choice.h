// The choice of kernels with a table of measured ones: an entry's kernel where the table has one
// that the spec can have, the choice by predicted times in between. Entries are of GEMMs.
#ifndef HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_
#define HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {

// What was chosen by itself: the range of an entry, or what is left between two of them, for which
// choose_kernels() chose.
struct ChosenRange {
  MRange m;                         // sizes
  std::optional<TunedEntry> entry;  // whose kernel serves the range
  std::size_t most_kernels = 1;     // that the range may have
};

struct TunedChoice {
  // Kernels for all sizes of the spec, ascending. A kernel that serves a measured range and one
  // next to it has both.
  std::vector<PlannedKernel> kernels;
  std::vector<ChosenRange> ranges;  // of all sizes of the spec, ascending
  // A sentence for each range that was chosen by itself, each entry that could not be used, and on
  // the costs of the table if a range was chosen by predicted times.
  std::vector<std::string> reasons;
};

// "a tile", "a path" or "batch_invariant", which keeps tables from being used for a spec, or null.
const char* what_no_table_has(const GemmSpec& spec);

// `table` is of the plan's target, or null; the plan has its costs (measured_costs.h). Throws what
// choose_kernels() throws.
TunedChoice choose_with_table(const Plan& plan, const TunedTable* table);

// The reasons of choose_with_table() that say which entries for the spec and which costs of the
// table could not be used, and why. A spec with what_no_table_has() has no such entries.
std::vector<std::string> unused_of_table(const Plan& plan, const TunedTable* table);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_TUNED_CHOICE_H_
