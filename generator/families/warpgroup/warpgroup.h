#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_WARPGROUP_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_WARPGROUP_H_

#include "generator/planner/gemm_variant.h"

namespace heddle {

// The kernel of a plan whose spec, target, decode and layout are set.
PlannedKernel warpgroup_kernel(const Plan& plan, const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_WARPGROUP_H_
