// FP32 to codes of eight bits, to the nearest, ties to even.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/fp8.cuh"
#include "primitives/versions.cuh"
#include "steps/small_float.cuh"

namespace heddle {

[[maybe_unused]] constexpr float kLargestFloat = 0x1.fffffep127f;
// 1.5 * 2^23: FP32 numbers near it are the integers, which stand in the low bits.
[[maybe_unused]] constexpr float kMagic = 12582912.0f;
[[maybe_unused]] constexpr u32 kMagicBits = 0x4b400000u;

// Rounds a number of magnitude below 2^22; ties to even.
__device__ __forceinline__ int nearest_integer(float t) {
  return static_cast<int>(bits_of_float(t + kMagic) - kMagicBits);
}

[[maybe_unused]] constexpr float kLeastScale = 0x1p-126f;

struct CodeScale {
  float inverse = 0.0f;  // what values are multiplied by
  u32 mask = 0;          // of the codes: 0 makes all of them zero
};

// What codes take of a scale that the launch gives.
__device__ __forceinline__ CodeScale given_scale(float given) {
  CodeScale scale;
  if (!(given >= kLeastScale && given < 0x1p126f)) return scale;
  scale.inverse = reciprocal(given);
  scale.mask = 0xffffffffu;
  return scale;
}

template <bool kE8m0>
constexpr u32 kNanScale = kE8m0 ? 0xffu : 0x7fc00000u;

// A scale that is found, as it is stored: FP32, or e8m0, rounded up.
struct FoundScale {
  u32 bits = 0;
  CodeScale of_codes;
};

// The scale of values whose largest magnitude, or whose range, is `width`, which becomes that of
// `largest`, the largest code's, 127 or more. `width` is finite and not negative.
template <bool kE8m0>
__device__ __forceinline__ FoundScale finite_scale(float width, float largest) {
  const float quotient = divide(width, largest);
  FoundScale scale;
  if constexpr (kE8m0) {
    scale.bits = round_scale<ScaleType::kE8m0>(quotient).bits;
    // 1 / 2^(bits - 127), exactly; bits are at most 248.
    scale.of_codes.inverse = float_from_bits((254u - scale.bits) << 23);
  } else {
    const float usable = quotient > kLeastScale ? quotient : kLeastScale;
    scale.bits = bits_of_float(usable);
    scale.of_codes.inverse = reciprocal(usable);
  }
  return scale;
}
// finite_scale() for a width that may also be infinite or NaN, but not negative: then the scale is
// NaN, and codes are zero.
template <bool kE8m0>
__device__ __forceinline__ FoundScale found_scale(float width, float largest) {
  const bool finite = width <= kLargestFloat;
  FoundScale scale = finite_scale<kE8m0>(width, largest);
  if (!finite) scale.bits = kNanScale<kE8m0>;
  scale.of_codes.mask = finite ? 0xffffffffu : 0u;
  return scale;
}

// Two codes of 8-bit floats in the low half, `low` in its low byte. Not above the largest finite
// value; a NaN becomes 0x7f. Codes: a SmallFloat, e4m3 or e5m2.
template <class Codes>
__device__ __forceinline__ u32 fp8_pair(float low, float high) {
#if HEDDLE_CONVERTS_FP8
  return Codes::kMantissa == 3 ? e4m3_pair(low, high) : e5m2_pair(low, high);
#else
  const auto code = [](float value) -> u32 {
    const u32 bits = bits_of_float(value);
    if (value != value) return 0x7f;
    return Codes::nearest(float_from_bits(bits & 0x7fffffffu)) | bits >> 31 << 7;
  };
  return code(low) | code(high) << 8;
#endif
}

// Codes of values that have met their scale, saturated: two in the low half, as fp8_pair() has
// them. A NaN becomes zero.
struct Int8Code {
  static constexpr float kLargest = 127.0f;
  static __device__ __forceinline__ int of(float t) {
    return nearest_integer(t != t ? 0.0f : clamp(t, -128.0f, 127.0f));
  }
  static __device__ __forceinline__ u32 pair(float low, float high) {
    return pack_s8(of(low), of(high), 0);
  }
};
// A NaN becomes 0x7f.
template <class Codes>
struct Fp8Code {
  static constexpr float kLargest = Codes::kMantissa == 3 ? 448.0f : 57344.0f;
  static __device__ __forceinline__ u32 pair(float low, float high) {
    return fp8_pair<Codes>(low, high);
  }
};
using E4m3Code = Fp8Code<SmallFloat<4, 3, 0x7e>>;
using E5m2Code = Fp8Code<SmallFloat<5, 2, 0x7b>>;

}  // namespace heddle
