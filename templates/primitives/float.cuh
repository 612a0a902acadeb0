// FP32 arithmetic whose rounding is part of a result's definition. All of it keeps subnormals.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// div.rn.f32: the quotient, rounded once, as IEEE 754 has it.
__device__ __forceinline__ float divide(float a, float b) {
  float d;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// cvt.rni.f32.f32: to the nearest integer, ties to even; infinities stay.
__device__ __forceinline__ float round_to_integer(float a) {
  float d;
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// min.f32 and max.f32: of two numbers, neither a NaN.
__device__ __forceinline__ float clamp(float a, float low, float high) {
  float d;
  asm("{ .reg .f32 t; max.f32 t, %1, %2; min.f32 %0, t, %3; }"
      : "=f"(d)
      : "f"(a), "f"(low), "f"(high));
  return d;
}

}  // namespace heddle
