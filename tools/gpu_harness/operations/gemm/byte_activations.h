// Random activations of eight bits, as row_transform could have written them.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BYTE_ACTIVATIONS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BYTE_ACTIVATIONS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct ByteActivations {
  std::vector<std::uint8_t> codes;        // [M, K]
  std::vector<float> scales;              // [M], or one; of groups [G][scale_stride]
  std::vector<std::uint32_t> scale_bits;  // as a launch takes them
  std::int64_t scale_stride = 0;          // of groups
  std::vector<std::int32_t> zero_points;  // [M], of asymmetric ones
};

// The type of 16 bits that holds every code of W and of X less its zero point: X's own, of eight
// bits FP16.
DType code_dtype(const GemmSpec& spec) noexcept;

// Codes of every value, but those of FP8 that are NaN, infinite or above 64; scales of groups have
// seven bits. The same seed gives the same data. Precondition: the spec's activations have eight
// bits.
ByteActivations random_byte_activations(const GemmSpec& spec, std::int64_t m, std::uint32_t seed);

// [M, K]: the codes less their zero points, times the scales of groups, which FP16 holds, but not
// times others.
std::vector<float> values_before_row_scales(const GemmSpec& spec, const ByteActivations& x);
// [m]: what is left to multiply them by.
std::vector<float> row_scales(const GemmSpec& spec, const ByteActivations& x, std::int64_t m);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BYTE_ACTIVATIONS_H_
