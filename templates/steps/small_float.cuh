// Small floats and the rounding of scales, in FP32, step by step as
// generator/layout/rounding_rule.cc does it on the host: the results are the same bits.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/types.cuh"
#include "steps/scale_type.h"

namespace heddle {

__device__ __forceinline__ float power_of_two(int exponent) {
  return float_from_bits(static_cast<u32>(127 + exponent) << 23);
}

// A sign, kExponentBits and kMantissaBits, IEEE-style with subnormals. kLargest: the code of the
// largest finite magnitude.
template <int kExponentBits, int kMantissaBits, u32 kLargest>
struct SmallFloat {
  static constexpr int kMantissa = kMantissaBits;

  // The value of a magnitude's code; exact.
  static __device__ __forceinline__ float value(u32 code) {
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    const int exponent = static_cast<int>(code >> kMantissaBits);
    const u32 fraction = code & ((1u << kMantissaBits) - 1);
    const u32 significand = exponent == 0 ? fraction : fraction | 1u << kMantissaBits;
    return static_cast<float>(significand) *
           power_of_two((exponent == 0 ? 1 : exponent) - kBias - kMantissaBits);
  }

  // The code of the nearest magnitude, ties to even, not above the largest.
  static __device__ __forceinline__ u32 nearest(float magnitude) {
    constexpr int kLowest = 2 - (1 << (kExponentBits - 1));  // exponent of the subnormals
    const float limited = clamp(magnitude, 0.0f, value(kLargest));
    const int own = static_cast<int>(bits_of_float(limited) >> 23) - 127;
    const int exponent = own > kLowest ? own : kLowest;
    // In units of the last place, rounded where they meet 2^23, whose neighbours are the integers:
    // instructions that round or convert take eight times as long. A carry out of the mantissa
    // moves into the exponent by itself.
    const float units = multiply_add(limited, power_of_two(kMantissaBits - exponent), 0x1p23f);
    return (static_cast<u32>(exponent - kLowest) << kMantissaBits) + bits_of_float(units) -
           bits_of_float(0x1p23f);
  }
};

// A scale as stored, and the number that W is divided by; zero: nothing is divided.
struct RoundedScale {
  u32 bits;
  float value;
};

__device__ __forceinline__ u32 smaller(u32 a, u32 b) { return a < b ? a : b; }

// To the nearest, ties to even, not above the largest finite value; e8m0: the smallest power of two
// that is not smaller.
template <ScaleType kType>
__device__ __forceinline__ RoundedScale round_scale(float scale) {
  const u32 bits = bits_of_float(scale);
  if constexpr (kType == ScaleType::kFp16) {
    using Half = SmallFloat<5, 10, 0x7bff>;
    const u32 code = Half::nearest(scale);
    return {code, Half::value(code)};
  } else if constexpr (kType == ScaleType::kE4m3) {
    using E4m3 = SmallFloat<4, 3, 0x7e>;
    const u32 code = E4m3::nearest(scale);
    return {code, E4m3::value(code)};
  } else if constexpr (kType == ScaleType::kBf16) {
    const u32 code = smaller((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, 0x7f7fu);
    return {code, float_from_bits(code << 16)};
  } else if constexpr (kType == ScaleType::kE8m0) {
    constexpr u32 kSmallest = 0x00400000u;  // 2^-127, a subnormal
    const u32 code = bits <= kSmallest ? 0u : smaller((bits + 0x007fffffu) >> 23, 254u);
    return {code, bits == 0 ? 0.0f : float_from_bits(code == 0 ? kSmallest : code << 23)};
  } else {
    const u32 finite = smaller(bits, 0x7f7fffffu);
    return {finite, float_from_bits(finite)};
  }
}

}  // namespace heddle
