// wgmma of codes of eight bits, sm_90a only: D[64, kN] += A[64, 32] * B[32, kN], B in shared
// memory, A there, too, or in registers, sums of INT8 in 32-bit integers, of FP8 in FP32. With lane
// = 4 * g + t:
//   a[0]  row g, columns 4t .. 4t + 3, the first in the lowest byte;  a[1]  the same of row g + 8
//   a[2], a[3]  the same rows, 16 columns on
//
// Rows of A and columns of B are 128 bytes each, swizzled as wgmma_columns() says; the next 32
// values lie 32 bytes on. D is in registers as primitives/wgmma.cuh has it.
#pragma once

#include "primitives/codes.cuh"
#include "primitives/wgmma.cuh"

namespace heddle {

// clang-format off
#define HEDDLE_INTS_4(i) "+r"(d[i]), "+r"(d[(i) + 1]), "+r"(d[(i) + 2]), "+r"(d[(i) + 3])
#define HEDDLE_INTS_8(i) HEDDLE_INTS_4(i), HEDDLE_INTS_4((i) + 4)
#define HEDDLE_INTS_16(i) HEDDLE_INTS_8(i), HEDDLE_INTS_8((i) + 8)
#define HEDDLE_INTS_32(i) HEDDLE_INTS_16(i), HEDDLE_INTS_16((i) + 16)
#define HEDDLE_INTS_40(i) HEDDLE_INTS_32(i), HEDDLE_INTS_8((i) + 32)
#define HEDDLE_INTS_48(i) HEDDLE_INTS_32(i), HEDDLE_INTS_16((i) + 32)
#define HEDDLE_INTS_64(i) HEDDLE_INTS_32(i), HEDDLE_INTS_32((i) + 32)
#define HEDDLE_INTS_80(i) HEDDLE_INTS_64(i), HEDDLE_INTS_16((i) + 64)
#define HEDDLE_INTS_96(i) HEDDLE_INTS_64(i), HEDDLE_INTS_32((i) + 64)
#define HEDDLE_INTS_128(i) HEDDLE_INTS_64(i), HEDDLE_INTS_64((i) + 64)

// wgmma.mma_async.m64nNk32 for kN columns and kSums = kN / 2 registers of d, which come before the
// other operands `rows`, `columns` and p. `add` false: D = A * B.
#define HEDDLE_WGMMA_BYTES(A, B, Sum, kTypes, kLast, kSumsOf, kN, kSums, a, b, p)                  \
  __device__ __forceinline__ void wgmma(A, B, Sum (&d)[kSums], u64 rows, u64 columns,              \
                                        bool add) {                                                \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %" #p ", 0; "                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #kN "k32." kTypes                             \
                 " {" HEDDLE_NAMES_##kSums "}, %" #a ", %" #b ", add" kLast "; }"                  \
                 : kSumsOf##_##kSums(0)                                                            \
                 : "l"(rows), "l"(columns), "r"(static_cast<u32>(add)));                           \
  }
#define HEDDLE_WGMMA_CODES(...)                                                                    \
  HEDDLE_WGMMA_BYTES(Int8Codes, Int8Codes, u32, "s32.s8.s8", "", HEDDLE_INTS, __VA_ARGS__)              \
  HEDDLE_WGMMA_BYTES(E4m3Codes, E4m3Codes, float, "f32.e4m3.e4m3", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__)    \
  HEDDLE_WGMMA_BYTES(E4m3Codes, E5m2Codes, float, "f32.e4m3.e5m2", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__)    \
  HEDDLE_WGMMA_BYTES(E5m2Codes, E4m3Codes, float, "f32.e5m2.e4m3", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__)    \
  HEDDLE_WGMMA_BYTES(E5m2Codes, E5m2Codes, float, "f32.e5m2.e5m2", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__)
HEDDLE_WGMMA_CODES(16, 8, 8, 9, 10)
HEDDLE_WGMMA_CODES(32, 16, 16, 17, 18)
HEDDLE_WGMMA_CODES(64, 32, 32, 33, 34)
HEDDLE_WGMMA_CODES(80, 40, 40, 41, 42)
HEDDLE_WGMMA_CODES(96, 48, 48, 49, 50)
HEDDLE_WGMMA_CODES(128, 64, 64, 65, 66)
HEDDLE_WGMMA_CODES(160, 80, 80, 81, 82)
HEDDLE_WGMMA_CODES(192, 96, 96, 97, 98)
HEDDLE_WGMMA_CODES(256, 128, 128, 129, 130)

// wgmma of codes with A in registers: a0 .. a3, then b and p.
#define HEDDLE_WGMMA_DECODED(A, B, Sum, kTypes, kLast, kSumsOf, kN, kSums, a0, a1, a2, a3, b, p)   \
  __device__ __forceinline__ void wgmma(A, B, Sum (&d)[kSums], const u32 (&a)[4], u64 columns,     \
                                        bool add) {                                                \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %" #p ", 0; "                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #kN "k32." kTypes                             \
                 " {" HEDDLE_NAMES_##kSums "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b     \
                 ", add" kLast "; }"                                                               \
                 : kSumsOf##_##kSums(0)                                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns),                       \
                   "r"(static_cast<u32>(add)));                                                    \
  }
#define HEDDLE_WGMMA_DECODED_CODES(...)                                                               \
  HEDDLE_WGMMA_DECODED(Int8Codes, Int8Codes, u32, "s32.s8.s8", "", HEDDLE_INTS, __VA_ARGS__)           \
  HEDDLE_WGMMA_DECODED(E4m3Codes, E4m3Codes, float, "f32.e4m3.e4m3", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__) \
  HEDDLE_WGMMA_DECODED(E4m3Codes, E5m2Codes, float, "f32.e4m3.e5m2", ", 1, 1", HEDDLE_SUMS, __VA_ARGS__)
HEDDLE_WGMMA_DECODED_CODES(16, 8, 8, 9, 10, 11, 12, 13)
HEDDLE_WGMMA_DECODED_CODES(32, 16, 16, 17, 18, 19, 20, 21)
HEDDLE_WGMMA_DECODED_CODES(64, 32, 32, 33, 34, 35, 36, 37)
HEDDLE_WGMMA_DECODED_CODES(80, 40, 40, 41, 42, 43, 44, 45)
HEDDLE_WGMMA_DECODED_CODES(96, 48, 48, 49, 50, 51, 52, 53)
HEDDLE_WGMMA_DECODED_CODES(128, 64, 64, 65, 66, 67, 68, 69)
HEDDLE_WGMMA_DECODED_CODES(160, 80, 80, 81, 82, 83, 84, 85)
HEDDLE_WGMMA_DECODED_CODES(192, 96, 96, 97, 98, 99, 100, 101)
HEDDLE_WGMMA_DECODED_CODES(256, 128, 128, 129, 130, 131, 132, 133)
// clang-format on

}  // namespace heddle
