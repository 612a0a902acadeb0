// templates/primitives/half.cuh in C++.
#pragma once

#include "primitives/float.cuh"
#include "primitives/types.cuh"
#include "tests/emulator/half_arithmetic.h"

namespace heddle {

template <emulator::Half kHalf, u32 kOne>
struct HalfPair {
  static constexpr u32 kOnes = kOne << 16 | kOne;
  static u32 sub2(u32 a, u32 b) { return emulator::sub_pair(kHalf, a, b); }
  static u32 fma2(u32 a, u32 b, u32 c) { return emulator::fma_pair(kHalf, a, b, c); }
  static u32 fms2(u32 a, u32 b, u32 c) { return fma2(a, b, c ^ 0x80008000u); }
  static u32 mul2(u32 a, u32 b) { return emulator::mul_pair(kHalf, a, b); }
  static float low_to_float(u32 pair) { return emulator::widen(kHalf, pair & 0xffff); }
  static float high_to_float(u32 pair) { return emulator::widen(kHalf, pair >> 16); }
  static u32 max2_or_nan(u32 a, u32 b) {
    return from_floats(max_or_nan(low_to_float(a), low_to_float(b)),
                       max_or_nan(high_to_float(a), high_to_float(b)));
  }
  static u32 min2_or_nan(u32 a, u32 b) {
    return max2_or_nan(a ^ 0x80008000u, b ^ 0x80008000u) ^ 0x80008000u;
  }
  static u32 from_floats(float low, float high) { return emulator::round_pair(kHalf, low, high); }
};

struct Fp16 : HalfPair<emulator::Half::kFp16, 0x3c00> {
  static constexpr u32 kExponentUnits = 0x04000400;
  static constexpr int kMaxExponent = 15;
  static constexpr int kE4m3Shift = 1;
  static constexpr int kE4m3Exponent = 8;
};
struct Bf16 : HalfPair<emulator::Half::kBf16, 0x3f80> {
  static constexpr u32 kExponentUnits = 0x00800080;
  static constexpr int kMaxExponent = 127;
  static constexpr int kE4m3Shift = 4;
  static constexpr int kE4m3Exponent = 120;
};

inline u32 fp16_from_e4m3(u32 codes) { return emulator::fp16_of_e4m3(codes); }
inline u32 fp16_from_high_e4m3(u32 codes) { return emulator::fp16_of_e4m3(codes >> 16); }

}  // namespace heddle
