// Rounding to the nearest code, in FP32, step by step as generator/layout/quantize.cc does it on
// the host: the results are the same bits.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/types.cuh"

namespace heddle {

enum class ScaleType { kFp16, kBf16, kFp32, kE8m0, kE4m3 };

__device__ __forceinline__ float power_of_two(int exponent) {
  return float_from_bits(static_cast<u32>(127 + exponent) << 23);
}

// A sign, kExponentBits and kMantissaBits, IEEE-style with subnormals. kLargest: the code of the
// largest finite magnitude.
template <int kExponentBits, int kMantissaBits, u32 kLargest>
struct SmallFloat {
  // Of a magnitude's code; exact.
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

template <class Config>
struct Rounding {
  using CodeFloat = SmallFloat<Config::kExponentBits, Config::kMantissaBits, Config::kLargestCode>;
  static constexpr u32 kMask = (1u << Config::kBits) - 1;

  struct GroupCode {
    RoundedScale scale;
    int zero;  // before the bias
  };

  static __device__ __forceinline__ int limit(float value) {
    return static_cast<int>(
        clamp(value, static_cast<float>(Config::kLow), static_cast<float>(Config::kHigh)));
  }

  // Of a group whose largest positive and negative values have these magnitudes, 16-bit floats.
  static __device__ __forceinline__ GroupCode group_code(u32 positive_bits, u32 negative_bits) {
    GroupCode code{{0, 0.0f}, Config::kAsymmetric ? Config::kLow : 0};
    if (positive_bits >= Config::kInfinity || negative_bits >= Config::kInfinity) {
      code.scale.bits = Config::kNanScale;
      return code;
    }
    const float positive = Config::Value::low_to_float(positive_bits);
    const float negative = Config::Value::low_to_float(negative_bits);
    float width = positive > negative ? positive : negative;
    if constexpr (Config::kAsymmetric) width = positive + negative;
    float divisor = static_cast<float>(Config::kDivisor);
    if constexpr (Config::kFloatCodes) divisor = CodeFloat::value(Config::kLargestCode);
    code.scale = round_scale<Config::kScaleType>(divide(width, divisor));
    if (Config::kAsymmetric && code.scale.value != 0.0f) {
      code.zero = limit(round_to_integer(divide(negative, code.scale.value)) +
                        static_cast<float>(Config::kLow));
    }
    return code;
  }

  static __device__ __forceinline__ u32 code(float w, float scale, float zero) {
    if constexpr (Config::kFloatCodes) {
      const u32 bits = bits_of_float(w);
      const float magnitude = float_from_bits(bits & 0x7fffffffu);
      const u32 nearest =
          CodeFloat::nearest(divide(magnitude, scale)) | bits >> 31 << (Config::kBits - 1);
      return scale == 0.0f ? 0 : nearest;
    } else {
      const float steps = round_to_integer(divide(w, scale));
      return static_cast<u32>(limit((scale == 0.0f ? 0.0f : steps) + zero) + Config::kBias) & kMask;
    }
  }
};

}  // namespace heddle
