// Weights that were not quantised, as specs of the tests have them.
#ifndef HEDDLE_TESTS_PLAIN_WEIGHT_H_
#define HEDDLE_TESTS_PLAIN_WEIGHT_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

// `dtype`: kFp16 or kBf16.
inline WeightSpec plain_weight(DType dtype) {
  WeightSpec weight;
  weight.bits = 16;
  weight.type = dtype == DType::kBf16 ? WeightType::kBf16 : WeightType::kFp16;
  return weight;
}

// A gemm with such weights, whose activations are of the same type, as they must be.
inline GemmSpec plain_gemm(std::int64_t n, std::int64_t k, DType dtype = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.activation = dtype;
  spec.weight = plain_weight(dtype);
  return spec;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_PLAIN_WEIGHT_H_
