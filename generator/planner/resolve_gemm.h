#ifndef HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_
#define HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_

#include "heddle/plan.h"

namespace heddle {

// Fills a gemm's plan whose spec and target are set, or throws Error(kUnsupported) with every
// reason why it cannot.
void resolve_gemm(Plan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_RESOLVE_GEMM_H_
