#include "generator/layout/rounding_rule.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "generator/spec/in_quotes.h"
#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

constexpr int kFloatBias = 127;
constexpr int kFloatMantissaBits = 23;
constexpr SmallFloat kHalf{5, 10, 0x7BFF};
constexpr SmallFloat kE4m3Float{4, 3, 0x7E};  // 448

float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(kFloatBias + exponent)
                              << kFloatMantissaBits);
}

SmallFloat code_float(WeightType type) {
  switch (type) {
    case WeightType::kE4m3:
      return kE4m3Float;
    case WeightType::kE5m2:
      return {5, 2, 0x7B};  // 57344
    case WeightType::kE2m3:
      return {2, 3, 0x1F};  // 7.5
    case WeightType::kE3m2:
      return {3, 2, 0x1F};  // 28
    case WeightType::kE2m1:
      return {2, 1, 0x07};  // 6
    case WeightType::kUint:
    case WeightType::kInt:
    case WeightType::kNf4:
    case WeightType::kFp16:
    case WeightType::kBf16:
      break;
  }
  return {};
}

// To the nearest, ties to even; not beyond the largest finite value.
std::uint32_t nearest_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::min<std::uint32_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16, 0x7F7F);
}

// The exponent of the smallest power of two that is not smaller; 0 is 2^-127, 254 is 2^127.
std::uint32_t power_not_below(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t kSmallest = 0x00400000;  // 2^-127, a subnormal
  if (bits <= kSmallest) return 0;
  return std::min<std::uint32_t>((bits + 0x007FFFFF) >> kFloatMantissaBits, 254);
}

}  // namespace

float SmallFloat::value(std::uint32_t code) const {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(code >> mantissa_bits);
  const std::uint32_t fraction = code & ((1u << mantissa_bits) - 1);
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << mantissa_bits;
  return static_cast<float>(significand) *
         power_of_two(std::max(exponent, 1) - bias - mantissa_bits);
}

std::uint32_t SmallFloat::nearest(float magnitude) const {
  const float limited = std::min(magnitude, value(largest));
  const int lowest = 2 - (1 << (exponent_bits - 1));  // exponent of the subnormals
  const auto bits = std::bit_cast<std::uint32_t>(limited);
  const int exponent = std::max(static_cast<int>(bits >> kFloatMantissaBits) - kFloatBias, lowest);
  // In units of the last place; a carry out of the mantissa moves into the exponent by itself.
  const float units = std::nearbyint(limited * power_of_two(mantissa_bits - exponent));
  return (static_cast<std::uint32_t>(exponent - lowest) << mantissa_bits) +
         static_cast<std::uint32_t>(units);
}

RoundingRule rounding_rule(const WeightSpec& weight) {
  RoundingRule rule;
  const int half = 1 << (weight.bits - 1);
  if (weight.type != WeightType::kUint && weight.type != WeightType::kInt) {
    rule.is_float = true;
    rule.code_float = code_float(weight.type);
    return rule;
  }
  const bool is_signed = weight.type == WeightType::kInt;
  rule.asymmetric = weight.zero_point == ZeroPoint::kInt;
  if (rule.asymmetric) {
    rule.low = is_signed ? -half : 0;
    rule.high = rule.low + 2 * half - 1;
    rule.divisor = 2 * half - 1;
  } else {
    rule.low = -half;
    rule.high = half - 1;
    rule.bias = is_signed ? 0 : half;
    rule.divisor = half - 1;
  }
  return rule;
}

RoundedScale round_scale(DType dtype, float scale) {
  switch (dtype) {
    case DType::kFp16: {
      const std::uint32_t bits = kHalf.nearest(scale);
      return {bits, kHalf.value(bits)};
    }
    case DType::kE4m3: {
      const std::uint32_t bits = kE4m3Float.nearest(scale);
      return {bits, kE4m3Float.value(bits)};
    }
    case DType::kBf16: {
      const std::uint32_t bits = nearest_bfloat(scale);
      return {bits, std::bit_cast<float>(bits << 16)};
    }
    case DType::kE8m0: {
      const std::uint32_t code = power_not_below(scale);
      const std::uint32_t value = code == 0 ? 0x00400000 : code << kFloatMantissaBits;
      return {code, scale == 0 ? 0 : std::bit_cast<float>(value)};
    }
    case DType::kFp32:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  const std::uint32_t bits =
      std::min<std::uint32_t>(std::bit_cast<std::uint32_t>(scale), 0x7F7FFFFF);
  return {bits, std::bit_cast<float>(bits)};
}

std::uint32_t nan_scale(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return 0x7E00;
    case DType::kBf16:
      return 0x7FC0;
    case DType::kE8m0:
      return 0xFF;
    case DType::kE4m3:
      return 0x7F;
    case DType::kFp32:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return 0x7FC00000;
}

std::vector<Problem> refuse_rounding(const WeightSpec& weight) {
  std::vector<Problem> problems;
  if (weight.type == WeightType::kNf4) {
    problems.push_back({"/weight/type", "codes of a table are not made, only read", "\"nf4\"",
                        "integers, \"e4m3\", \"e5m2\", \"e2m3\", \"e3m2\", \"e2m1\"", ""});
  }
  if (weight.zero_point == ZeroPoint::kFloat) {
    problems.push_back({"/weight/zero_point",
                        "rounding to the nearest has integer zero points: zero keeps its value",
                        in_quotes(to_string(weight.zero_point)), "\"none\" or \"int\"", ""});
  }
  if (is_integer(weight.type) && weight.bits == 1 && weight.zero_point == ZeroPoint::kNone) {
    problems.push_back({"/weight/bits",
                        "one bit without zero points has the values -1 and 0: no scale fits both "
                        "signs",
                        "1", "2 to 8, or \"zero_point\": \"int\"", ""});
  }
  if (weight.group_size == kPerTensor || weight.tensor_scale) {
    problems.push_back({weight.tensor_scale ? "/weight/tensor_scale" : "/weight/group_size",
                        "a scale of all of W would need a pass over all of W before the first code",
                        weight.tensor_scale ? "true" : std::to_string(weight.group_size),
                        weight.tensor_scale ? "false" : "-1, or 16 and more", ""});
  }
  return problems;
}

}  // namespace heddle
