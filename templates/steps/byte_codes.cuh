// FP32 to codes of eight bits, to the nearest, ties to even.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/fp8.cuh"
#include "primitives/versions.cuh"
#include "steps/small_float.cuh"

namespace heddle {

[[maybe_unused]] constexpr float kLargestFloat = 0x1.fffffep127f;
// 1.5 * 2^23: FP32 numbers near it are the integers, which stand in the low bits.
[[maybe_unused]] constexpr float kMagic = 12582912.0f;
[[maybe_unused]] constexpr u32 kMagicBits = 0x4b400000u;

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

}  // namespace heddle
