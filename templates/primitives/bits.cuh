// Integer instructions on one 32-bit register.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// lop3.b32: any bitwise function of three inputs. Bit i of kLut is the result for the inputs
// (a, b, c) = the bits of i, so the table of f is f(0xF0, 0xCC, 0xAA).
template <u32 kLut>
__device__ __forceinline__ u32 lop3(u32 a, u32 b, u32 c) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(kLut));
  return d;
}

// prmt.b32: byte i of the result is byte (nibble i of kSelector) of the eight bytes {b, a}.
template <u32 kSelector>
__device__ __forceinline__ u32 prmt(u32 a, u32 b) {
  u32 d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "n"(kSelector));
  return d;
}

// prmt with the selector in a register: a table look-up of four bytes at once.
__device__ __forceinline__ u32 prmt_by(u32 a, u32 b, u32 selector) {
  u32 d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  return d;
}

// cvt.pack.sat.s8.s32.b32: `low` and `high`, limited to -128 to 127, in the two lowest bytes, and
// the low half of `upper` above them.
__device__ __forceinline__ u32 pack_s8(int low, int high, u32 upper) {
  u32 d;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(high), "r"(low), "r"(upper));
  return d;
}

// One half of a pair twice. As moves, which arithmetic on pairs takes over as its operand's form,
// at no cost; a prmt would stay.
__device__ __forceinline__ u32 low_twice(u32 pair) {
  u32 d;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l}; }" : "=r"(d) : "r"(pair));
  return d;
}
__device__ __forceinline__ u32 high_twice(u32 pair) {
  u32 d;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h}; }" : "=r"(d) : "r"(pair));
  return d;
}

// shl.b32
template <u32 kBits>
__device__ __forceinline__ u32 shl(u32 a) {
  return a << kBits;
}

// shr.u32: logical shift right.
template <u32 kBits>
__device__ __forceinline__ u32 shr(u32 a) {
  return a >> kBits;
}

// shf.r.wrap.b32: 32 bits of the 64 bits {high, low}, from bit kBits on; kBits below 32.
template <u32 kBits>
__device__ __forceinline__ u32 funnel_shr(u32 low, u32 high) {
  u32 d;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(low), "r"(high), "n"(kBits));
  return d;
}

// The number of the lowest bit that is set, of which there is one.
__device__ __forceinline__ int lowest_bit(u32 value) { return __ffs(static_cast<int>(value)) - 1; }

// No instruction: the compiler knows no longer what the register holds, so what was computed of it
// before is not kept beside it, but computed again.
__device__ __forceinline__ u32 forget(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

__device__ __forceinline__ float float_from_bits(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ u32 bits_of_float(float value) { return __float_as_uint(value); }
__device__ __forceinline__ f32x4 as_floats(u32x4 v) {
  return {__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w)};
}
__device__ __forceinline__ u32x4 pack_floats(float a, float b, float c, float d) {
  return {__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d)};
}

}  // namespace heddle
