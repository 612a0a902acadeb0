// Rounding to binary16 and bfloat16, fast enough for whole checkpoints. The arithmetic of
// generator/decode/float16.h gives the same bits; the tests compare the two.
#ifndef HEDDLE_CHECKPOINT_CODES_HALF_CONVERT_H_
#define HEDDLE_CHECKPOINT_CODES_HALF_CONVERT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "checkpoint/files/tensor.h"
#include "heddle/spec.h"

namespace heddle {

// To the nearest, ties to even; overflow gives infinity.
inline std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7C00);  // 2^16
  if (magnitude < 0x38800000) {                                                   // 2^-14
    // 0.5's last place is 2^-24, that of the subnormals: the addition rounds as is wanted.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3F000000));
  }
  magnitude += 0xFFF + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000) >> 13);
}

inline std::uint16_t bfloat_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) {
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Rounded to odd: a second rounding to 16 bits then gives what one rounding would have given.
inline float float_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (!(back < value || back > value) || (bits & 1) != 0) return nearest;
  const bool away = (value > back) == (value > 0);  // of the two neighbours, the larger magnitude
  // A value below the smallest float rounds to zero, whose sign alone gives a direction.
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

// One rounding of an exact value. `dtype` is kFp16 or kBf16.
inline std::uint16_t round_to_16(DType dtype, double value) {
  const float odd = float_to_odd(value);
  return dtype == DType::kBf16 ? bfloat_from_float(odd) : half_from_float(odd);
}

// Element `index` of a tensor of F16, BF16 or F32; exact.
double float_element(TensorType type, const std::uint8_t* data, std::size_t index);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CODES_HALF_CONVERT_H_
