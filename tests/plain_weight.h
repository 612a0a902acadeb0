// Weights that were not quantised, as specs of the tests have them.
#ifndef HEDDLE_TESTS_PLAIN_WEIGHT_H_
#define HEDDLE_TESTS_PLAIN_WEIGHT_H_

#include "heddle/spec.h"

namespace heddle {

// `dtype`: kFp16 or kBf16.
inline WeightSpec plain_weight(DType dtype) {
  WeightSpec weight;
  weight.bits = 16;
  weight.type = dtype == DType::kBf16 ? WeightType::kBf16 : WeightType::kFp16;
  return weight;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_PLAIN_WEIGHT_H_
