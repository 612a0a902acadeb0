// Types of stored scales and zero points, as they come from memory to FP32. Rows g and g + 8 lie
// side by side: one load brings both.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"

namespace heddle {

// Values of row g and of row g + 8.
struct RowPair {
  float low, high;
};

// Two values in the bits of a register, where `Value` is Fp16 or Bf16.
template <class Value>
struct Scale16 {
  static constexpr int kPairBytes = 4;
  static __device__ __forceinline__ RowPair load_shared(u32 address) {
    return widen(load_shared_4(address));
  }
  static __device__ __forceinline__ RowPair load_global(const u8* address) {
    return widen(*reinterpret_cast<const u32*>(address));
  }

 private:
  static __device__ __forceinline__ RowPair widen(u32 pair) {
    return {Value::low_to_float(pair), Value::high_to_float(pair)};
  }
};

struct ScaleFp32 {
  static constexpr int kPairBytes = 8;
  static __device__ __forceinline__ RowPair load_shared(u32 address) {
    const u64 pair = load_shared_8(address);
    return {__uint_as_float(static_cast<u32>(pair)), __uint_as_float(static_cast<u32>(pair >> 32))};
  }
  static __device__ __forceinline__ RowPair load_global(const u8* address) {
    const float* pair = reinterpret_cast<const float*>(address);
    return {pair[0], pair[1]};
  }
};

// Multiplies a pair by 2^kExponent, in one step or, past the type's largest power of two, in two.
template <class Value, int kExponent>
__device__ __forceinline__ u32 power_of_two_pair(u32 pair) {
  constexpr int kFirst = kExponent < Value::kMaxExponent ? kExponent : Value::kMaxExponent;
  if constexpr (kFirst == 0) return pair;
  const u32 d = Value::mul2(pair, Value::kOnes + kFirst * Value::kExponentUnits);
  return power_of_two_pair<Value, kExponent - kFirst>(d);
}

// Two codes of 8 bits, each widened by Code::widen.
template <class Code>
struct Scale8 {
  static constexpr int kPairBytes = 2;
  static __device__ __forceinline__ RowPair load_shared(u32 address) {
    const u32 pair = load_shared_2(address);
    return {Code::widen(pair & 0xff), Code::widen(pair >> 8)};
  }
  static __device__ __forceinline__ RowPair load_global(const u8* address) {
    return {Code::widen(address[0]), Code::widen(address[1])};
  }
  // Times 2^kExponent, as a pair of `Value`s, which hold them exactly.
  template <class Value, int kExponent>
  static __device__ __forceinline__ u32 load_values(u32 address) {
    return Code::template values<kExponent>(Value{}, load_shared_2(address));
  }
};

// 2^(code - 127), 255 is NaN. As the exponent of an FP32 the code is already right, but for code 0,
// which is the subnormal 2^-127, and for NaN.
struct E8m0 {
  static __device__ __forceinline__ float widen(u32 code) {
    const u32 bits = code == 0 ? 0x00400000u : code == 255 ? 0x7fc00000u : code << 23;
    return __uint_as_float(bits);
  }
  template <int kExponent>
  static __device__ __forceinline__ u32 values(Fp16, u32 pair) {
    return power_of_two_pair<Fp16, kExponent>(
        Fp16::from_floats(widen(pair & 0xff), widen(pair >> 8)));
  }
  // A bfloat16 has the same exponent. Its code 255 is infinite, of which zero times makes NaN.
  template <int kExponent>
  static __device__ __forceinline__ u32 values(Bf16, u32 pair) {
    constexpr u32 kSmallest = 0x00400040;           // 2^-127, 2^-127
    const u32 powers = prmt<0x1404>(pair, 0) >> 1;  // each code at bit 7 of its half
    return Bf16::fma2(Bf16::max2_or_nan(powers, kSmallest),
                      Bf16::kOnes + kExponent * Bf16::kExponentUnits, Bf16::mul2(powers, 0));
  }
};

// Sign, 4 exponent and 3 mantissa bits, moved to the FP32's places: the biases differ by 120, and a
// multiplication mends that for subnormals, too. The NaN codes count as 480, as they do in weights.
struct E4m3 {
  static __device__ __forceinline__ float widen(u32 code) {
    return __uint_as_float((code & 0x80) << 24 | (code & 0x7f) << 20) * 0x1p120f;
  }
  // Two codes at once, in the places of a 16-bit float.
  template <int kExponent, class Value>
  static __device__ __forceinline__ u32 values(Value, u32 pair) {
    constexpr u32 kPlaces = (0x7f00u >> Value::kE4m3Shift) * 0x00010001u;
    const u32 high = prmt<0x1404>(pair, 0);  // each in the upper byte of its half
    return power_of_two_pair<Value, Value::kE4m3Exponent + kExponent>(
        (high & 0x80008000u) | (high >> Value::kE4m3Shift & kPlaces));
  }
};

// x * 2^kExponent.
template <int kExponent>
__device__ __forceinline__ float power_of_two(float x) {
  static_assert(kExponent > -127 && kExponent < 128, "a normal FP32");
  if constexpr (kExponent == 0) return x;
  return x * __uint_as_float(static_cast<u32>(127 + kExponent) << 23);
}

}  // namespace heddle
