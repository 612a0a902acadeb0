// Codes of e2m1: a sign, two bits of exponent, one of mantissa. Before sm_100 no instruction makes
// them.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"

namespace heddle {

// Steps of e2m1 are half of a value's power of two, 1/2 below 1. 2^22 + 3 such powers have this
// step in FP32, so that the sum is rounded as the code is: it ends with the number of steps and
// 6, and before that is 2 * (149 + the exponent), which adds up to the code and a multiple of 8.
// The code without its sign is in the low three bits.
__device__ __forceinline__ u32 e2m1_magnitude(float value) {
  const float magnitude = fabsf(value);
  const float limited = magnitude < 6.0f ? magnitude : 6.0f;
  const float power = float_from_bits(bits_of_float(larger(limited, 1.0f)) & 0x7f800000u);
  const u32 sum = bits_of_float(multiply_add(power, 0x1.00000cp22f, limited));
  return sum + (sum >> 22);
}
// Eight codes: those of even elements and those of odd ones in bytes, then all in half bytes.
__device__ __forceinline__ u32 e2m1_word(const float* values) {
  u32 bytes[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    u32 low[4];
    u32 high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = e2m1_magnitude(values[2 * i + odd]);
      high[i] = bits_of_float(values[2 * i + odd]);
    }
    const u32 magnitudes = prmt<0x5410>(prmt<0x0040>(low[0], low[1]), prmt<0x0040>(low[2], low[3]));
    const u32 signs = prmt<0x5410>(prmt<0x0073>(high[0], high[1]), prmt<0x0073>(high[2], high[3]));
    bytes[odd] = (magnitudes & 0x07070707u) | (signs >> 4 & 0x08080808u);
  }
  return bytes[0] + (bytes[1] << 4);
}

}  // namespace heddle
