// When two variants are one kernel.
#ifndef HEDDLE_GENERATOR_PLANNER_SAME_KERNEL_H_
#define HEDDLE_GENERATOR_PLANNER_SAME_KERNEL_H_

#include "generator/families/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Whether two variants of one spec and target are the same kernel but for its name and the range of
// M that it serves.
bool is_same_kernel(const GemmVariant& a, const GemmVariant& b);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_SAME_KERNEL_H_
