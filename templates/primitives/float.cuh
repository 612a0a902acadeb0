// FP32 products with a chosen rounding.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// mul.rm.f32: rounds toward minus infinity.
__device__ __forceinline__ float mul_down(float a, float b) {
  float d;
  asm("mul.rm.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
// mul.rp.f32: rounds toward plus infinity.
__device__ __forceinline__ float mul_up(float a, float b) {
  float d;
  asm("mul.rp.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// The product rounded to odd: itself where FP32 holds it, else the one of its two neighbours whose
// last bit is set. A second rounding, to 16 bits, then gives what a single one would have given.
__device__ __forceinline__ float mul_to_odd(float a, float b) {
  const float below = mul_down(a, b);
  return (__float_as_uint(below) & 1u) != 0 ? below : mul_up(a, b);
}

}  // namespace heddle
