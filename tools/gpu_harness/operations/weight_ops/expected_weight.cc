#include "tools/gpu_harness/operations/weight_ops/expected_weight.h"

#include "checkpoint/codes/half_convert.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "heddle/inspect/decode_plan.h"
#include "tools/gpu_harness/numbers/stored_scale.h"

namespace heddle {

std::uint16_t expected_weight(const WeightOpSpec& spec, unsigned code, std::uint32_t zero,
                              std::uint32_t scale_bits, float tensor_scale) {
  const WeightSpec& weight = spec.weight;
  const float scale = stored_scale(weight.scale_dtype, scale_bits);
  // Where a code lies does not change what it means.
  WeightSpec plain = weight;
  plain.interleave = Interleave::kFragment;
  plain.permutation.clear();
  const DecodeRequest request = decode_request(plain, spec.dtype);
  const bool float_zero = weight.zero_point == ZeroPoint::kFloat;
  float value = 0;
  if (float_zero) {
    // The code itself, without the bias that a code without zero point has.
    const bool negative = weight.type == WeightType::kInt && (code >> (weight.bits - 1) & 1) != 0;
    const int plain = static_cast<int>(code) - (negative ? 1 << weight.bits : 0);
    value = static_cast<float>(plain) - stored_scale(weight.scale_dtype, zero);
  } else {
    value = static_cast<float>(
        float16_to_double(float16_format(spec.dtype), reference_decode(request, code, zero)));
  }
  const auto exact = [](float a, float b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  if (!weight.tensor_scale) return round_to_16(spec.dtype, exact(value, scale));
  if (float_zero || weight.scale_dtype == DType::kFp32) {
    return round_to_16(spec.dtype, exact(value, scale * tensor_scale));
  }
  return round_to_16(spec.dtype, exact(value * scale, tensor_scale));
}

bool same_weight(DType dtype, std::uint16_t got, std::uint16_t expected) noexcept {
  if (got == kPoisonWeight) return false;
  if (got == expected) return true;
  const int infinity = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  return (got & 0x7FFF) > infinity && (expected & 0x7FFF) > infinity;
}

}  // namespace heddle
