// The scale, the zero point and the codes of a group, in FP32, step by step as
// generator/layout/quantize.cc finds them on the host: the results are the same bits.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/types.cuh"
#include "quantize_weight/config.h"
#include "steps/small_float.cuh"

namespace heddle {

template <class Config>
struct Rounding {
  static constexpr FloatCodes kFloats = Config::value.floats;
  static constexpr IntegerCodes kIntegers = Config::value.integers;
  static constexpr bool kFloatCodes = Config::value.float_codes;
  static constexpr int kBits = Config::value.packed.bits;
  static constexpr u32 kMask = (1u << kBits) - 1;
  using CodeFloat = SmallFloat<kFloats.exponent_bits, kFloats.mantissa_bits, kFloats.largest>;

  struct GroupCode {
    RoundedScale scale;
    int zero;  // before the bias
  };

  static __device__ __forceinline__ int limit(float value) {
    return static_cast<int>(
        clamp(value, static_cast<float>(kIntegers.low), static_cast<float>(kIntegers.high)));
  }

  // The scale and zero point of a group, from the magnitudes of its largest positive and negative
  // value, which are 16-bit floats.
  static __device__ __forceinline__ GroupCode group_code(u32 positive_bits, u32 negative_bits) {
    GroupCode code{{0, 0.0f}, kIntegers.asymmetric ? kIntegers.low : 0};
    if (positive_bits >= Config::value.infinity || negative_bits >= Config::value.infinity) {
      code.scale.bits = Config::value.nan_scale;
      return code;
    }
    const float positive = Config::Value::low_to_float(positive_bits);
    const float negative = Config::Value::low_to_float(negative_bits);
    float width = positive > negative ? positive : negative;
    if constexpr (kIntegers.asymmetric) width = positive + negative;
    float divisor = static_cast<float>(kIntegers.divisor);
    if constexpr (kFloatCodes) divisor = CodeFloat::value(kFloats.largest);
    code.scale = round_scale<Config::value.scale_type>(divide(width, divisor));
    if (kIntegers.asymmetric && code.scale.value != 0.0f) {
      code.zero = limit(round_to_integer(divide(negative, code.scale.value)) +
                        static_cast<float>(kIntegers.low));
    }
    return code;
  }

  static __device__ __forceinline__ u32 code(float w, float scale, float zero) {
    if constexpr (kFloatCodes) {
      const u32 bits = bits_of_float(w);
      const float magnitude = float_from_bits(bits & 0x7fffffffu);
      const u32 nearest = CodeFloat::nearest(divide(magnitude, scale)) | bits >> 31 << (kBits - 1);
      return scale == 0.0f ? 0 : nearest;
    } else {
      const float steps = round_to_integer(divide(w, scale));
      return static_cast<u32>(limit((scale == 0.0f ? 0.0f : steps) + zero) + kIntegers.bias) &
             kMask;
    }
  }
};

}  // namespace heddle
