// Random quantised weights, and what their numbers are worth.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_RANDOM_WEIGHTS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_RANDOM_WEIGHTS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {

// Uniform codes of so many bits.
std::vector<std::uint8_t> random_codes(std::mt19937& random, std::int64_t count, int bits);

// Codes and integer zero points uniform, but for those that stand for infinity, NaN or more than
// 64; scales of some size, so that a weight is around 1/16. Weights that were not quantised are of
// that size themselves. The same seed gives the same weights. Of two levels every other group has a
// scale that fits all codes, the others have the codes that fit their scale.
QuantizedWeights random_weights(const MatrixShape& shape, const WeightSpec& weight,
                                std::uint32_t seed);

// W[n, k] = (values[code] - zeros[n, g]) * scales[n, g] * tensor_scale, each number exact; group g
// is (column + group_offset) / group_size. A scale of two levels is the product of both, in FP32.
struct PlainNumbers {
  std::vector<float> values;  // as many as there are codes
  std::vector<float> scales;  // [N, G]; ones where there are none
  std::vector<float> zeros;   // [N, G]
  std::int64_t group_size = 1;
  std::int64_t group_offset = 0;
  std::int64_t groups = 1;  // of a row
  double tensor_scale = 1;
};

// What each code decodes to, less no zero point but the fixed bias.
std::vector<float> code_values(const WeightSpec& weight, DType dtype);

// Code `index` of [N, K].
std::size_t code_at(const WeightSpec& weight, const QuantizedWeights& weights, std::size_t index);

// `dtype`: that the weights are decoded to; a table's values are rounded to it.
PlainNumbers plain_numbers(const MatrixShape& shape, const WeightSpec& weight, DType dtype,
                           const QuantizedWeights& weights);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_RANDOM_WEIGHTS_H_
