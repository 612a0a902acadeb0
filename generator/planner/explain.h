// Why a plan has the kernel that it has for some launch, held against all candidates.
#ifndef HEDDLE_GENERATOR_PLANNER_EXPLAIN_H_
#define HEDDLE_GENERATOR_PLANNER_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/family.h"
#include "generator/planner/candidates.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {

struct AbsentFamily {
  const Family* family = nullptr;
  std::string why;  // it has no candidate
};

struct Explanation {
  LaunchSize size;
  MRange step;  // that kernels are chosen for, by their times for the usual launches of these sizes
  // The step's candidates with their predicted times for the launch, the fastest first. The chosen
  // one is among them, and may be a candidate of a later step.
  std::vector<CandidatePlan> candidates;
  std::size_t chosen = 0;  // its place in `candidates`
  MRange chosen_range;     // the sizes that the chosen kernel serves
  std::string why;         // it was chosen: one sentence
  std::vector<AbsentFamily> absent;
};

// `table`: that the plan was made with, or null. Precondition: the size is one of the spec's.
Explanation explain_choice(const Plan& plan, const LaunchSize& size,
                           const TunedTable* table = nullptr);
inline Explanation explain_choice(const Plan& plan, std::int64_t m,
                                  const TunedTable* table = nullptr) {
  return explain_choice(plan, LaunchSize{m}, table);
}

// 32-bit registers that the compiler may give to a thread of the kernel.
int register_budget(const PlannedKernel& kernel, const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_EXPLAIN_H_
