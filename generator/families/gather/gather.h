#ifndef HEDDLE_GENERATOR_FAMILIES_GATHER_GATHER_H_
#define HEDDLE_GENERATOR_FAMILIES_GATHER_GATHER_H_

#include "heddle/inspect/plan.h"

namespace heddle {

// The kernel that a GEMM with act-order runs first: X[M, permutation], times the factors of its
// columns if the spec has them.
PlannedKernel gather_kernel(const GemmSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GATHER_GATHER_H_
