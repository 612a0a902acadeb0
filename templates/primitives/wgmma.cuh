// Tensor core instructions of a warpgroup, four neighbouring warps, sm_90a only.
//
// wgmma: D[64,kN] += A[64,16] * B[16,kN], 16-bit inputs, FP32 sums. Warp w of the warpgroup holds
// rows 16w .. 16w + 15 of A and of D. With lane = 4 * g + t:
//   a[0..3]            as mma.m16n8k16 has it (primitives/mma.cuh)
//   d[4j], d[4j + 1]   row g, columns 8j + 2t and 8j + 2t + 1;  d[4j + 2], d[4j + 3]  row g + 8
// B lies in shared memory, its columns one after the other; a descriptor says where and how.
//
// It runs on its own: its registers may be read or written again only once wgmma_wait() says so.
#pragma once

#include "primitives/half.cuh"
#include "primitives/sync.cuh"
#include "primitives/types.cuh"

namespace heddle {

// wgmma.fence: orders this warp's accesses to the registers before the multiplications that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// wgmma.commit_group: closes the group of all multiplications since the last call.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// wgmma.wait_group: until at most kPending of the latest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// No instruction: keeps the compiler from moving accesses to a register over this place.
__device__ __forceinline__ void pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
__device__ __forceinline__ void pin(u32& value) { asm volatile("" : "+r"(value)::"memory"); }

// Columns of 64 values in 128 bytes each, their 16-byte units permuted by the 128-byte swizzle of
// tensor copies, from a multiple of 1024 bytes on. Eight columns are 1024 bytes. The next 16 values
// lie 32 bytes on: add 2.
__device__ __forceinline__ constexpr u64 wgmma_columns(u32 shared_address) {
  constexpr u64 kSwizzle128 = u64{1} << 62;
  constexpr u64 kEightColumns = u64{1024 >> 4} << 32;
  constexpr u64 kNotUsed = u64{1} << 16;
  return kSwizzle128 | kEightColumns | kNotUsed | (shared_address & 0x3ffff) >> 4;
}
// A descriptor as the warp's first lane has it. It tells the compiler that lanes agree, which
// then keeps descriptors in uniform registers, where wgmma takes them from.
__device__ __forceinline__ u64 wgmma_same_columns(u64 columns) {
  constexpr u64 kHigh = wgmma_columns(0) >> 32 << 32;
  return kHigh | broadcast(static_cast<u32>(columns), 0);
}

// Lists for the instruction's text: ten operands %p0 .. %p9, and references to registers of d.
// clang-format off
#define HEDDLE_TEN(p) "%" #p "0, %" #p "1, %" #p "2, %" #p "3, %" #p "4, %" #p "5, %" #p "6, %" #p "7, %" #p "8, %" #p "9, "
#define HEDDLE_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define HEDDLE_NAMES_16 HEDDLE_TEN() "%10, %11, %12, %13, %14, %15"
#define HEDDLE_NAMES_24 HEDDLE_TEN() HEDDLE_TEN(1) "%20, %21, %22, %23"
#define HEDDLE_NAMES_32 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) "%30, %31"
#define HEDDLE_NAMES_36 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) "%30, %31, %32, %33, %34, %35"
#define HEDDLE_NAMES_40 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39"
#define HEDDLE_NAMES_48 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) "%40, %41, %42, %43, %44, %45, %46, %47"
#define HEDDLE_NAMES_64 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) HEDDLE_TEN(4) HEDDLE_TEN(5) "%60, %61, %62, %63"
#define HEDDLE_NAMES_72 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) HEDDLE_TEN(4) HEDDLE_TEN(5) HEDDLE_TEN(6) "%70, %71"
#define HEDDLE_NAMES_80 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) HEDDLE_TEN(4) HEDDLE_TEN(5) HEDDLE_TEN(6) \
    "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define HEDDLE_NAMES_96 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) HEDDLE_TEN(4) HEDDLE_TEN(5) HEDDLE_TEN(6) \
    HEDDLE_TEN(7) HEDDLE_TEN(8) "%90, %91, %92, %93, %94, %95"
#define HEDDLE_NAMES_128 HEDDLE_TEN() HEDDLE_TEN(1) HEDDLE_TEN(2) HEDDLE_TEN(3) HEDDLE_TEN(4) HEDDLE_TEN(5) HEDDLE_TEN(6) \
    HEDDLE_TEN(7) HEDDLE_TEN(8) HEDDLE_TEN(9) HEDDLE_TEN(10) HEDDLE_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define HEDDLE_SUMS_4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define HEDDLE_SUMS_8(i) HEDDLE_SUMS_4(i), HEDDLE_SUMS_4((i) + 4)
#define HEDDLE_SUMS_16(i) HEDDLE_SUMS_8(i), HEDDLE_SUMS_8((i) + 8)
#define HEDDLE_SUMS_24(i) HEDDLE_SUMS_16(i), HEDDLE_SUMS_8((i) + 16)
#define HEDDLE_SUMS_32(i) HEDDLE_SUMS_16(i), HEDDLE_SUMS_16((i) + 16)
#define HEDDLE_SUMS_36(i) HEDDLE_SUMS_32(i), HEDDLE_SUMS_4((i) + 32)
#define HEDDLE_SUMS_40(i) HEDDLE_SUMS_32(i), HEDDLE_SUMS_8((i) + 32)
#define HEDDLE_SUMS_48(i) HEDDLE_SUMS_32(i), HEDDLE_SUMS_16((i) + 32)
#define HEDDLE_SUMS_64(i) HEDDLE_SUMS_32(i), HEDDLE_SUMS_32((i) + 32)
#define HEDDLE_SUMS_72(i) HEDDLE_SUMS_64(i), HEDDLE_SUMS_8((i) + 64)
#define HEDDLE_SUMS_80(i) HEDDLE_SUMS_64(i), HEDDLE_SUMS_16((i) + 64)
#define HEDDLE_SUMS_96(i) HEDDLE_SUMS_64(i), HEDDLE_SUMS_32((i) + 64)
#define HEDDLE_SUMS_128(i) HEDDLE_SUMS_64(i), HEDDLE_SUMS_64((i) + 64)

// wgmma.mma_async.m64nNk16 for kN columns and kSums = kN / 2 registers of d, which come before the
// other operands a0 .. a3, b, p. `add` false: D = A * B.
#define HEDDLE_WGMMA(Value, kType, kN, kSums, a0, a1, a2, a3, b, p)                                \
  __device__ __forceinline__ void wgmma(Value, float (&d)[kSums], const u32 (&a)[4], u64 columns,  \
                                        bool add) {                                                \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %" #p ", 0; "                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #kN "k16.f32." kType "." kType                \
                 " {" HEDDLE_NAMES_##kSums "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b     \
                 ", add, 1, 1, 0; }"                                                               \
                 : HEDDLE_SUMS_##kSums(0)                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns),                       \
                   "r"(static_cast<u32>(add)));                                                    \
  }
#define HEDDLE_WGMMA_BOTH(kN, kSums, ...)               \
  HEDDLE_WGMMA(Fp16, "f16", kN, kSums, __VA_ARGS__)     \
  HEDDLE_WGMMA(Bf16, "bf16", kN, kSums, __VA_ARGS__)
HEDDLE_WGMMA_BOTH(16, 8, 8, 9, 10, 11, 12, 13)
HEDDLE_WGMMA_BOTH(32, 16, 16, 17, 18, 19, 20, 21)
HEDDLE_WGMMA_BOTH(48, 24, 24, 25, 26, 27, 28, 29)
HEDDLE_WGMMA_BOTH(64, 32, 32, 33, 34, 35, 36, 37)
HEDDLE_WGMMA_BOTH(72, 36, 36, 37, 38, 39, 40, 41)
HEDDLE_WGMMA_BOTH(80, 40, 40, 41, 42, 43, 44, 45)
HEDDLE_WGMMA_BOTH(96, 48, 48, 49, 50, 51, 52, 53)
HEDDLE_WGMMA_BOTH(128, 64, 64, 65, 66, 67, 68, 69)
HEDDLE_WGMMA_BOTH(144, 72, 72, 73, 74, 75, 76, 77)
HEDDLE_WGMMA_BOTH(160, 80, 80, 81, 82, 83, 84, 85)
HEDDLE_WGMMA_BOTH(192, 96, 96, 97, 98, 99, 100, 101)
HEDDLE_WGMMA_BOTH(256, 128, 128, 129, 130, 131, 132, 133)
// clang-format on

}  // namespace heddle
