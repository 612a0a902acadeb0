// Random activations of eight bits, as row_transform could have written them.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_BYTE_ACTIVATIONS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_BYTE_ACTIVATIONS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct ByteActivations {
  std::vector<std::uint8_t> codes;        // [M, K]
  std::vector<float> scales;              // [M], or one
  std::vector<std::int32_t> zero_points;  // [M], of asymmetric ones
};

// The type of 16 bits that holds every code of W and of X less its zero point: X's own, of eight
// bits FP16.
DType code_dtype(const GemmSpec& spec) noexcept;

// Codes of every value, but those of FP8 that are NaN, infinite or above 64. The same seed gives
// the same data. Precondition: the spec's activations have eight bits.
ByteActivations random_byte_activations(const GemmSpec& spec, std::int64_t m, std::uint32_t seed);

// [M, K]: the codes less their zero points, not scaled.
std::vector<float> unscaled_values(const GemmSpec& spec, const ByteActivations& x);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_BYTE_ACTIVATIONS_H_
