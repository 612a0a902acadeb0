// Weights that are not quantised, as a gemm has them.
#ifndef HEDDLE_GENERATOR_MODEL_PLAIN_WEIGHT_H_
#define HEDDLE_GENERATOR_MODEL_PLAIN_WEIGHT_H_

#include "heddle/spec.h"

namespace heddle {

// `dtype`: of the weights and of the activations.
inline WeightSpec plain_weight(DType dtype) {
  WeightSpec weight;
  weight.bits = 16;
  weight.type = dtype == DType::kBf16 ? WeightType::kBf16 : WeightType::kFp16;
  return weight;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_PLAIN_WEIGHT_H_
