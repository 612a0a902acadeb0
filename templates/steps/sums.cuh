// What the sums of a GEMM are, and how those of several warps and blocks are added: FloatSums or,
// of codes of eight bits, ByteSums (byte_sums.cuh).
#pragma once

#include "primitives/bits.cuh"
#include "steps/result.cuh"

namespace heddle {

// FP32, scaled where they go to Y.
struct FloatSums {
  using Sum = float;
  struct OfRows {};                         // nothing: see ByteSums
  static constexpr float kNothing = -0.0f;  // adds nothing, not even a sign
  static __device__ __forceinline__ void add(float* sums, f32x4 v) { add_four(sums, v); }
  // Sums as they go through memory.
  static __device__ __forceinline__ float as_float(float sum) { return sum; }
  static __device__ __forceinline__ float of_bits(u32 bits) { return float_from_bits(bits); }
  static __device__ __forceinline__ f32x4 four(const float* sums) {
    return {sums[0], sums[1], sums[2], sums[3]};
  }
};

}  // namespace heddle
