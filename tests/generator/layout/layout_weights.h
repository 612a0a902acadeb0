// Specs and random weights for the tests of the packed layout.
#ifndef HEDDLE_TESTS_GENERATOR_LAYOUT_LAYOUT_WEIGHTS_H_
#define HEDDLE_TESTS_GENERATOR_LAYOUT_LAYOUT_WEIGHTS_H_

#include <cstdint>
#include <random>

#include "generator/layout/groups.h"
#include "heddle/weights.h"

namespace heddle {

inline GemmSpec spec_of(std::int64_t n, std::int64_t k, int group,
                        ZeroPoint zero = ZeroPoint::kNone, DType scale = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  spec.weight.scale_dtype = scale;
  return spec;
}

inline QuantizedWeights random_weights(const GemmSpec& spec) {
  std::mt19937 random(11);
  const std::int64_t count = spec.weight.group_size == kPerTensor
                                 ? 1
                                 : spec.shape.n * groups_along_k(spec.weight, spec.shape.k);
  const int scale_bytes = bytes_of(spec.weight.scale_dtype);
  const bool float_zeros = spec.weight.zero_point == ZeroPoint::kFloat;
  QuantizedWeights weights;
  weights.codes.resize(spec.shape.n * spec.shape.k);
  weights.scales.resize(count * scale_bytes);
  if (spec.weight.zero_point == ZeroPoint::kInt) weights.zeros.resize(count);
  if (float_zeros) weights.zeros.resize(count * scale_bytes);
  const unsigned codes = 1u << spec.weight.bits;
  for (auto& code : weights.codes) code = static_cast<std::uint8_t>(random() % codes);
  for (auto& byte : weights.scales) byte = static_cast<std::uint8_t>(random());
  for (auto& zero : weights.zeros) {
    zero = static_cast<std::uint8_t>(float_zeros ? random() : random() % codes);
  }
  if (spec.weight.tensor_scale) weights.tensor_scale = 0.3f;
  return weights;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_LAYOUT_LAYOUT_WEIGHTS_H_
