#ifndef HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_
#define HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_

#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {

// Fills a gemm's plan whose spec and target are set, or throws Error(kUnsupported) with every
// reason why it cannot. `table` is of its target, or null.
void resolve_gemm(Plan& plan, const TunedTable* table);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_
