// How eight neighbouring values of a token lie in Y and in the residual. Codes of eight bits:
// steps/result_codes.cuh.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"

namespace heddle {

// Sums of eight neighbouring rows, of one token.
template <class Sum>
struct EightSums {
  Sum v[8];
};
// Eight sums in FP32, or outputs.
using Sums8 = EightSums<float>;

__device__ __forceinline__ void add_four(float* sums, f32x4 v) {
  sums[0] += v.x;
  sums[1] += v.y;
  sums[2] += v.z;
  sums[3] += v.w;
}
__device__ __forceinline__ void add_floats(Sums8& sum, f32x4 low, f32x4 high) {
  add_four(sum.v, low);
  add_four(sum.v + 4, high);
}

__device__ __forceinline__ Sums8 eight_sums(f32x4 low, f32x4 high) {
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

// Value: Fp16 or Bf16.
template <class Value>
__device__ __forceinline__ void add_values(Sums8& sum, u32x4 values) {
  const u32 pairs[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum.v[2 * i] += Value::low_to_float(pairs[i]);
    sum.v[2 * i + 1] += Value::high_to_float(pairs[i]);
  }
}

// What outputs without a scale have in place of one.
struct NoScale {};

// Value: Fp16 or Bf16.
template <class Value>
struct Result16 {
  static constexpr int kBytes = 2;
  using Residual = Result16;
  using Scale = NoScale;
  static __device__ __forceinline__ Scale load_scale(const u8* /*y_scales*/) { return {}; }
  // Rounds two outputs; store_rounded() takes eight.
  static __device__ __forceinline__ u32 rounded(float low, float high, Scale = {}) {
    return Value::from_floats(low, high);
  }
  static __device__ __forceinline__ void store_rounded(u8* y, u32x4 v) { store_global_16(y, v); }
  static __device__ __forceinline__ void add(const u8* residual, Sums8& sum) {
    add_values<Value>(sum, load_global_16_coherent(residual));
  }
  static __device__ __forceinline__ void store(u8* y, const Sums8& sum, const u8* /*y_scales*/) {
    store_global_16(y, {rounded(sum.v[0], sum.v[1]), rounded(sum.v[2], sum.v[3]),
                        rounded(sum.v[4], sum.v[5]), rounded(sum.v[6], sum.v[7])});
  }
};

struct ResultFp32 {
  static constexpr int kBytes = 4;
  using Residual = ResultFp32;
  static __device__ __forceinline__ void add(const u8* residual, Sums8& sum) {
    add_floats(sum, as_floats(load_global_16_coherent(residual)),
               as_floats(load_global_16_coherent(residual + 16)));
  }
  static __device__ __forceinline__ void store(u8* y, const Sums8& sum, const u8* /*y_scales*/) {
    store_global_floats(y, {sum.v[0], sum.v[1], sum.v[2], sum.v[3]});
    store_global_floats(y + 16, {sum.v[4], sum.v[5], sum.v[6], sum.v[7]});
  }
};

}  // namespace heddle
