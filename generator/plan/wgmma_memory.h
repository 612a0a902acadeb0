// The shared memory of a GEMM with wgmma.
#ifndef HEDDLE_GENERATOR_PLAN_WGMMA_MEMORY_H_
#define HEDDLE_GENERATOR_PLAN_WGMMA_MEMORY_H_

#include "heddle/plan.h"

namespace heddle {

// Stages, sums on their way to Y and barriers: the same arithmetic as
// templates/gemm/wgmma_shape.cuh, which checks the result.
int wgmma_shared_bytes(const GemmVariant& variant, const WeightLayout& layout);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_WGMMA_MEMORY_H_
