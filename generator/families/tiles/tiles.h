#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_TILES_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_TILES_H_

#include "generator/planner/gemm_variant.h"

namespace heddle {

// The kernel of a plan whose spec, target, decode and layout are set.
PlannedKernel tiles_kernel(const Plan& plan, const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_TILES_H_
