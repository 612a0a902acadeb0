// Arithmetic on a register that holds two 16-bit floats, and conversions from and to FP32.
// Fp16 and Bf16 have the same members, so that kernels take one of them as a type.
#pragma once

#include "primitives/float.cuh"
#include "primitives/types.cuh"
#include "primitives/versions.cuh"

namespace heddle {

struct Fp16 {
  static constexpr u32 kOnes = 0x3c003c00;           // 1, 1
  static constexpr u32 kExponentUnits = 0x04000400;  // what doubles both
  static constexpr int kMaxExponent = 15;            // of the largest power of two
  // From the upper byte of a half to the places of exponent and mantissa, and the power of two that
  // those lack.
  static constexpr int kE4m3Shift = 1;
  static constexpr int kE4m3Exponent = 8;
  // d = a - b, each half rounded once.
  static __device__ __forceinline__ u32 sub2(u32 a, u32 b) {
    u32 d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
  }
  // d = a * b + c, each half rounded once.
  static __device__ __forceinline__ u32 fma2(u32 a, u32 b, u32 c) {
    u32 d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
  }
  // d = a * b - c, each half rounded once.
  static __device__ __forceinline__ u32 fms2(u32 a, u32 b, u32 c) {
    u32 d;
    asm("{ .reg .b32 n; neg.f16x2 n, %3; fma.rn.f16x2 %0, %1, %2, n; }"
        : "=r"(d)
        : "r"(a), "r"(b), "r"(c));
    return d;
  }
  // d = a * b, each half rounded once.
  static __device__ __forceinline__ u32 mul2(u32 a, u32 b) {
    u32 d;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
  }
  // The larger and the smaller of each half, a NaN if one is.
  static __device__ __forceinline__ u32 max2_or_nan(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 800
    u32 d;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return from_floats(max_or_nan(low_to_float(a), low_to_float(b)),
                       max_or_nan(high_to_float(a), high_to_float(b)));
#endif
  }
  static __device__ __forceinline__ u32 min2_or_nan(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 800
    u32 d;
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return max2_or_nan(a ^ 0x80008000u, b ^ 0x80008000u) ^ 0x80008000u;
#endif
  }
  static __device__ __forceinline__ float low_to_float(u32 pair) {
    float f;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(f) : "r"(pair));
    return f;
  }
  static __device__ __forceinline__ float high_to_float(u32 pair) {
    float f;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h; }" : "=f"(f) : "r"(pair));
    return f;
  }
  // Rounds to nearest even; beyond the largest finite value gives infinity.
  static __device__ __forceinline__ u32 from_floats(float low, float high) {
    u32 d;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(d)
        : "f"(low), "f"(high));
    return d;
  }
};

struct Bf16 {
  static constexpr u32 kOnes = 0x3f803f80;           // 1, 1
  static constexpr u32 kExponentUnits = 0x00800080;  // what doubles both
  static constexpr int kMaxExponent = 127;
  static constexpr int kE4m3Shift = 4;
  static constexpr int kE4m3Exponent = 120;
  // Before sm_90 there is only fma: a product with one, or a sum with minus zero, is as exact.
  static __device__ __forceinline__ u32 sub2(u32 a, u32 b) {
    u32 d;
#if __CUDA_ARCH__ >= 900
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
#else
    d = fma2(a, 0x3f803f80u, b ^ 0x80008000u);
#endif
    return d;
  }
  static __device__ __forceinline__ u32 fma2(u32 a, u32 b, u32 c) {
    u32 d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
  }
  // d = a * b - c, each half rounded once.
  static __device__ __forceinline__ u32 fms2(u32 a, u32 b, u32 c) {
    u32 d;
    asm("{ .reg .b32 n; neg.bf16x2 n, %3; fma.rn.bf16x2 %0, %1, %2, n; }"
        : "=r"(d)
        : "r"(a), "r"(b), "r"(c));
    return d;
  }
  static __device__ __forceinline__ u32 mul2(u32 a, u32 b) {
    u32 d;
#if __CUDA_ARCH__ >= 900
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
#else
    d = fma2(a, b, 0x80008000u);
#endif
    return d;
  }
  // sm_80 and up.
  static __device__ __forceinline__ u32 max2_or_nan(u32 a, u32 b) {
    u32 d;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
  }
  static __device__ __forceinline__ u32 min2_or_nan(u32 a, u32 b) {
    u32 d;
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
  }
  // A bfloat16 is the upper half of the FP32 of the same value.
  static __device__ __forceinline__ float low_to_float(u32 pair) {
    return __uint_as_float(pair << 16);
  }
  static __device__ __forceinline__ float high_to_float(u32 pair) {
    return __uint_as_float(pair & 0xffff0000u);
  }
  static __device__ __forceinline__ u32 from_floats(float low, float high) {
    u32 d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
  }
};

// Two e4m3 codes in the low 16 bits, as FP16, exactly; NaN stays NaN.
__device__ __forceinline__ u32 fp16_from_e4m3(u32 codes) {
#if HEDDLE_CONVERTS_FP8
  // cvt.rn.f16x2.e4m3x2
  u32 d;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.rn.f16x2.e4m3x2 %0, l; }" : "=r"(d) : "r"(codes));
  return d;
#else
  // Sign, exponent and mantissa in the FP16's places make the value times 2^-8.
  const u32 high = (codes & 0xffu) << 8 | (codes & 0xff00u) << 16;
  const u32 d = Fp16::mul2((high & 0x80008000u) | (high >> 1 & 0x3f803f80u), 0x5c005c00u);
  const u32 low_nan = (codes & 0x7fu) == 0x7fu ? 0x7e00u : 0u;
  return d | low_nan | ((codes & 0x7f00u) == 0x7f00u ? 0x7e000000u : 0u);
#endif
}
// The two codes in the high 16 bits.
__device__ __forceinline__ u32 fp16_from_high_e4m3(u32 codes) {
#if HEDDLE_CONVERTS_FP8
  u32 d;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.rn.f16x2.e4m3x2 %0, h; }" : "=r"(d) : "r"(codes));
  return d;
#else
  return fp16_from_e4m3(codes >> 16);
#endif
}

}  // namespace heddle
