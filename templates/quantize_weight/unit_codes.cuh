// The codes of 16 columns of a row, in their order.
#pragma once

#include "quantize_weight/rounding.cuh"

namespace heddle {

// Codes of the eight registers of a segment, two columns each.
template <class Config>
__device__ __forceinline__ u32x4 unit_codes(const u32 (&pairs)[8], float scale) {
  using Value = typename Config::Value;
  u32 words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const u32 near = pairs[2 * i];
    const u32 far = pairs[2 * i + 1];
    words[i] = Rounding<Config>::code(Value::low_to_float(near), scale, 0.0f) |
               Rounding<Config>::code(Value::high_to_float(near), scale, 0.0f) << 8 |
               Rounding<Config>::code(Value::low_to_float(far), scale, 0.0f) << 16 |
               Rounding<Config>::code(Value::high_to_float(far), scale, 0.0f) << 24;
  }
  return {words[0], words[1], words[2], words[3]};
}

// The sum of sixteen INT8 codes.
__device__ __forceinline__ int sum_of_codes(const u32x4& codes) {
  const u32 words[4] = {codes.x, codes.y, codes.z, codes.w};
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) {
      sum += static_cast<int>(words[i] << (24 - shift)) >> 24;
    }
  }
  return sum;
}

}  // namespace heddle
