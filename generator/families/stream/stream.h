#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_

#include "generator/planner/gemm_variant.h"

namespace heddle {

// The kernel of a plan whose spec, target, decode and layout are set.
PlannedKernel stream_kernel(const Plan& plan, const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_
