// Tensor core instructions of one warp on codes of eight bits: D[16,8] += A[16,32] * B[32,8], sums
// of INT8 in 32-bit integers, of FP8 in FP32. With lane = 4 * g + t:
//   a[0], a[2]  row g,     columns 4t to 4t + 3 and 4t + 16 to 4t + 19
//   a[1], a[3]  row g + 8, the same columns
//   b[0], b[1]  rows 4t to 4t + 3 and 4t + 16 to 4t + 19 of column g
//   d[0..1]     row g,     columns 2t, 2t+1;  d[2..3]  row g + 8
// ldmatrix (mma.cuh) loads such registers: a row of its matrices is 16 codes.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/codes.cuh"
#include "primitives/half.cuh"
#include "primitives/mma.cuh"
#include "primitives/versions.cuh"

namespace heddle {

// mma.m16n8k32 of INT8, sm_80 and up. Sums that pass 32 bits wrap.
__device__ __forceinline__ void mma16832(Int8Codes, Int8Codes, u32 (&d)[4], const u32 (&a)[4],
                                         u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma.m8n8k16 of INT8, sm_75 and up: D[8,8] += A[8,16] * B[16,8]; a and b are a[0] and b[0] of
// above, d is d[0..1].
__device__ __forceinline__ void mma8816(u32& d0, u32& d1, u32 a, u32 b) {
  asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(d0), "+r"(d1)
      : "r"(a), "r"(b));
}

#if HEDDLE_COMPILER_AT_LEAST(12, 4)

// mma.m16n8k32 of FP8, sm_89 and up.
#define HEDDLE_MMA_FP8(A, B, types)                                                                \
  __device__ __forceinline__ void mma16832(A, B, float(&d)[4], const u32(&a)[4], u32 b0, u32 b1) { \
    asm("mma.sync.aligned.m16n8k32.row.col.f32." types                                             \
        ".f32 {%0, %1, %2, %3}, "                                                                  \
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                            \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                           \
  }
HEDDLE_MMA_FP8(E4m3Codes, E4m3Codes, "e4m3.e4m3")
HEDDLE_MMA_FP8(E4m3Codes, E5m2Codes, "e4m3.e5m2")
HEDDLE_MMA_FP8(E5m2Codes, E4m3Codes, "e5m2.e4m3")
HEDDLE_MMA_FP8(E5m2Codes, E5m2Codes, "e5m2.e5m2")
#undef HEDDLE_MMA_FP8

#else

// Two codes, each in the upper byte of its half, as FP16, which holds all of them.
__device__ __forceinline__ u32 fp16_of(E5m2Codes, u32 codes) { return codes; }
__device__ __forceinline__ u32 fp16_of(E4m3Codes, u32 codes) {
  constexpr u32 k256 = 0x5c005c00;  // by which codes in the places of FP16 are too small
  const u32 magnitude = codes & 0x7f007f00;
  const u32 is_nan = (magnitude + 0x01000100) & 0x80008000;
  return Fp16::mul2((codes & 0x80008000) | magnitude >> 1, k256) | (is_nan - (is_nan >> 15));
}
// The first two of four codes, and the others.
template <class Codes>
__device__ __forceinline__ u32 first_two(Codes codes, u32 four) {
  return fp16_of(codes, prmt<0x1404>(four, 0));
}
template <class Codes>
__device__ __forceinline__ u32 last_two(Codes codes, u32 four) {
  return fp16_of(codes, prmt<0x3424>(four, 0));
}

// What compilers without that instruction get: two mma.m16n8k16 of FP16. In which order columns of
// A meet rows of B does not matter.
template <class A, class B>
__device__ __forceinline__ void mma16832(A codes_a, B codes_b, float (&d)[4], const u32 (&a)[4],
                                         u32 b0, u32 b1) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const u32 b = i == 0 ? b0 : b1;
    const u32 row = a[2 * i], other = a[2 * i + 1];
    const u32 halves[4] = {first_two(codes_a, row), first_two(codes_a, other),
                           last_two(codes_a, row), last_two(codes_a, other)};
    MmaAmpere::mma16816(Fp16{}, d, halves, first_two(codes_b, b), last_two(codes_b, b));
  }
}

#endif

}  // namespace heddle
