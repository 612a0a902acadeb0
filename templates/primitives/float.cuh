// FP32 arithmetic whose rounding is part of a result's definition. All of it keeps subnormals.
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

// mul.rn.f32 and fma.rn.f32: never joined to, or taken apart into, other operations.
__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}

// max.NaN.f32, sm_80 and up: the larger one, a NaN if there is one.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float d;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
#else
  return a < b || b != b ? b : a;
#endif
}

// 1 / a, rounded to nearest, for 2^-126 <= a < 2^126. rcp.approx.ftz.f32 is within one unit in the
// last place; what it lacks is exact in one fma, and a second one adds it.
__device__ __forceinline__ float reciprocal(float a) {
  float near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(a));
  return multiply_add(near, multiply_add(-a, near, 1.0f), near);
}

// div.rn.f32: the quotient, rounded once, as IEEE 754 has it.
__device__ __forceinline__ float divide(float a, float b) {
  float d;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// sqrt.rn.f32: the root, rounded once, as IEEE 754 has it.
__device__ __forceinline__ float square_root(float a) {
  float d;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(d) : "f"(a));
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

// ex2.approx.ftz.f32: 2^a, to 2 units in the last place; 0 of minus infinity.
__device__ __forceinline__ float exp2_fast(float a) {
  float d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
// lg2.approx.f32
__device__ __forceinline__ float log2_fast(float a) {
  float d;
  asm("lg2.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
// rcp.approx.ftz.f32: 1 / a, to 1 unit in the last place; 0 from 2^126 on.
__device__ __forceinline__ float reciprocal_fast(float a) {
  float d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
// rsqrt.approx.ftz.f32: 1 / sqrt(a), to 2 units in the last place; infinity of zero and of
// subnormal numbers, 0 of infinity, NaN of negative numbers and of NaN.
__device__ __forceinline__ float reciprocal_root_fast(float a) {
  float d;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
// max.f32: the number, where one of the two is a NaN.
__device__ __forceinline__ float larger(float a, float b) {
  float d;
  asm("max.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

}  // namespace heddle
