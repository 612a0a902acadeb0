// templates/primitives/bits.cuh in C++.
#pragma once

#include <bit>

#include "primitives/types.cuh"
#include "tests/emulator/cuda_words.h"

namespace heddle {

template <u32 kLut>
inline u32 lop3(u32 a, u32 b, u32 c) {
  u32 d = 0;
  for (u32 i = 0; i < 8; ++i) {
    if ((kLut >> i & 1) == 0) continue;
    d |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return d;
}

inline int lowest_bit(u32 value) { return std::countr_zero(value); }

inline u32 prmt_by(u32 a, u32 b, u32 selector) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 d = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    u32 byte = static_cast<u32>(bytes >> 8 * (nibble & 7)) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;  // its sign, eight times
    d |= byte << 8 * i;
  }
  return d;
}
template <u32 kSelector>
inline u32 prmt(u32 a, u32 b) {
  return prmt_by(a, b, kSelector);
}

inline u32 pack_s8(int low, int high, u32 upper) {
  const auto byte = [](int code) {
    return static_cast<u32>(code < -128 ? -128 : code > 127 ? 127 : code) & 0xff;
  };
  return upper << 16 | byte(high) << 8 | byte(low);
}

inline u32 low_twice(u32 pair) { return prmt<0x1010>(pair, 0); }
inline u32 high_twice(u32 pair) { return prmt<0x3232>(pair, 0); }

template <u32 kBits>
inline u32 shl(u32 a) {
  return a << kBits;
}
template <u32 kBits>
inline u32 shr(u32 a) {
  return a >> kBits;
}
template <u32 kBits>
inline u32 funnel_shr(u32 low, u32 high) {
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> (kBits & 31));
}

inline u32 forget(u32 value) { return value; }
inline float float_from_bits(u32 bits) { return __uint_as_float(bits); }
inline u32 bits_of_float(float value) { return __float_as_uint(value); }
inline f32x4 as_floats(u32x4 v) {
  return {float_from_bits(v.x), float_from_bits(v.y), float_from_bits(v.z), float_from_bits(v.w)};
}
inline u32x4 pack_floats(float a, float b, float c, float d) {
  return {bits_of_float(a), bits_of_float(b), bits_of_float(c), bits_of_float(d)};
}

}  // namespace heddle
