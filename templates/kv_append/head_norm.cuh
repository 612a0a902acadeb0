// The RMSNorm of a head of K or Q, in FP32, step by step as generator/kv/head_norm.cc does it on
// the host.
#pragma once

#include "kv_append/rows.cuh"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// 1 / sqrt(mean of the row's squares + epsilon); 0 where the squares are too large for FP32. Lanes
// that hold nothing of the row bring zeros. All lanes of the warp call it.
template <class Config>
__device__ __forceinline__ float head_norm_factor(const float (&x)[16]) {
  constexpr float kLargest = 0x1.fffffep127f;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum = multiply_add(x[i], x[i], sum);
#pragma unroll
  for (int mask = 1; mask < Config::value.lanes; mask *= 2) sum += shuffle_xor(sum, mask);
  const float epsilon = float_from_bits(static_cast<u32>(Config::value.epsilon_bits));
  const float root = square_root(multiply_add(sum, 1.0f / Config::value.head_dim, epsilon));
  return root > kLargest ? 0.0f : reciprocal(root);
}

// The weights of a lane's elements.
template <class Config>
struct HeadWeights {
  using Value = typename Config::Value;

  Sixteen values{};

  // `first`, `second`: the first elements of its runs.
  __device__ __forceinline__ void load(const u8* weights, int first, int second) {
    values.set_8(0, load_global_16(weights + 2 * first));
    values.set_8(1, load_global_16(weights + 2 * second));
  }
  __device__ __forceinline__ void apply(float factor, float (&x)[16]) const {
    float weights[16];
    values.template widen<Value>(weights);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float weight = weights[i] + static_cast<float>(Config::value.weight_offset);
      x[i] = multiply(multiply(x[i], factor), weight);
    }
  }
};

}  // namespace heddle
