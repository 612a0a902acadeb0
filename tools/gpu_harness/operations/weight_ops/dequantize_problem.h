// DequantizeProblem: random quantised weights as a spec's format has them, and the bits that they
// mean. Host only.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

namespace heddle {

struct DequantizeProblem {
  SourceTensors source;
  std::vector<std::uint16_t> expected;  // [N, K], output.dtype
};

// Pure: the same seed gives the same data. Codes, zero points and columns' groups are uniform; most
// scales are near 2^-6 and one in eight is any finite value, so that results reach from zero over
// subnormals to infinity.
DequantizeProblem make_dequantize_problem(const WeightOpSpec& spec, std::uint32_t seed = 1);

// Tensors of the same sizes with any bytes and an order, for timing.
SourceTensors make_any_source(const WeightOpSpec& spec, std::uint32_t seed = 1);

// One weight from its code, by exact arithmetic from the meanings of code, zero point and scale:
//   the difference of code and zero point, exact, or in FP32 for a float zero point;
//   its product with the scale, rounded once. With a tensor's scale that product is FP32's, which
//   is exact, and the product with the tensor's scale is rounded once; but a scale of FP32, or of a
//   float zero point, is first multiplied by the tensor's in FP32.
// `zero` and `scale` are the stored bits.
std::uint16_t expected_weight(const WeightOpSpec& spec, unsigned code, std::uint32_t zero,
                              std::uint32_t scale, float tensor_scale);

// Equal, or both NaN; the poison of an element that was not written is never equal.
bool same_weight(DType dtype, std::uint16_t got, std::uint16_t expected) noexcept;
inline constexpr std::uint16_t kPoisonWeight = 0xFFFF;

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEQUANTIZE_PROBLEM_H_
