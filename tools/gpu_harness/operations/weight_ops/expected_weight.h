// The bits that a dequantised weight must have.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_EXPECTED_WEIGHT_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_EXPECTED_WEIGHT_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

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

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_EXPECTED_WEIGHT_H_
