// What a thread has of a row that a norm works on: weights, its vectors of X and of the residual,
// and what becomes of them.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "row_transform/row_output.cuh"

namespace heddle {

// Weight, bias and pre_scale of a thread's vectors. No kernel before it that still runs writes
// them. They are no ld.global.nc: those the compiler moves behind griddepcontrol.wait, where their
// latency would show.
template <class Config, int kCount>
struct NormWeights {
  u32x4 weight[kCount] = {};
  u32x4 bias[kCount] = {};
  u32x4 pre_scale[kCount] = {};

  __device__ __forceinline__ void load(const RowTransformParameters& p,
                                       const RowPlace<Config>& place, int first) {
    // Weights are the same for all rows, so that they are loaded even where the row is none.
    const auto in_row = [&](int i) { return place.vector(i) < RowPlace<Config>::kVectors; };
    const u8* weights = place.begin(p.weight);
    const u8* biases = Config::value.bias ? place.begin(p.bias) : nullptr;
    const u8* factors = Config::value.output.pre_scale ? place.begin(p.pre_scale) : nullptr;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (!in_row(first + i)) continue;
      weight[i] = load_global_16_coherent(weights + RowPlace<Config>::behind(first + i));
      if constexpr (Config::value.bias) {
        bias[i] = load_global_16_coherent(biases + RowPlace<Config>::behind(first + i));
      }
      if constexpr (Config::value.output.pre_scale) {
        pre_scale[i] = load_global_16_coherent(factors + RowPlace<Config>::behind(first + i));
      }
    }
  }
};

// What a thread reads of the row that it is at: pointers are to its first vector.
template <class Config>
struct NormRow {
  using Value = typename Config::Value;
  static constexpr bool kResidual = Config::value.residual;
  static constexpr bool kLayer = Config::value.norm == NormType::kLayer;

  const RowPlace<Config>& place;
  const u8* x;
  u8* residual;

  // Vectors `first` to first + kCount - 1 of the thread: of X, or of X + residual, which is
  // written; zeros behind the end of the row. All reads come before all writes.
  template <int kCount>
  __device__ __forceinline__ void load(int first, u32x4* s) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      s[i] = {};
      if (place.has(first + i)) s[i] = load_global_16_coherent(x + at(first + i));
    }
    if constexpr (kResidual) add_residual<kCount>(first, s);
  }
  // Loads what load() has read or written before in this thread.
  template <int kCount>
  __device__ __forceinline__ void load_again(int first, u32x4* s) const {
    const u8* sums = kResidual ? residual : x;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      s[i] = {};
      if (place.has(first + i)) s[i] = load_global_16_coherent(sums + at(first + i));
    }
  }

  // Adds what the first statistic is made of: a LayerNorm's elements, else their squares.
  static __device__ __forceinline__ void add(u32x4 s, float& sum) {
    float v[kVectorElements];
    widen_vector<Value>(s, v);
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      sum = kLayer ? sum + v[i] : multiply_add(v[i], v[i], sum);
    }
  }
  // Adds squares of differences from the mean.
  static __device__ __forceinline__ void add_deviations(u32x4 s, float mean, float& sum) {
    float v[kVectorElements];
    widen_vector<Value>(stay_packed(s), v);
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      const float difference = v[i] - mean;
      sum = multiply_add(difference, difference, sum);
    }
  }

  // A vector of Y before it is rounded.
  template <int kCount>
  static __device__ __forceinline__ void values(u32x4 s, float mean, float factor,
                                                const NormWeights<Config, kCount>& weights,
                                                int place, float (&v)[kVectorElements]) {
    float w[kVectorElements];
    float b[kVectorElements];
    widen_vector<Value>(stay_packed(s), v);
    widen_vector<Value>(stay_packed(weights.weight[place]), w);
    widen_vector<Value>(stay_packed(weights.bias[place]), b);
#pragma unroll
    for (int j = 0; j < kVectorElements; ++j) {
      const float normal = multiply(kLayer ? v[j] - mean : v[j], factor);
      const float scale = w[j] + static_cast<float>(Config::value.weight_offset);
      v[j] = Config::value.bias ? multiply_add(normal, scale, b[j]) : multiply(normal, scale);
    }
    apply_pre_scale<Config>(weights.pre_scale[place], v);
  }

 private:
  template <int kCount>
  __device__ __forceinline__ void add_residual(int first, u32x4* s) const {
    u32x4 r[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      r[i] = {};
      if (place.has(first + i)) r[i] = load_global_16_coherent(residual + at(first + i));
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      s[i] = sum_of(s[i], r[i]);
      if (place.has(first + i)) store_global_16(residual + at(first + i), s[i]);
    }
  }

  static __device__ __forceinline__ i64 at(int i) { return RowPlace<Config>::behind(i); }
  static __device__ __forceinline__ u32x4 sum_of(u32x4 a, u32x4 b) {
    float v[kVectorElements];
    float w[kVectorElements];
    widen_vector<Value>(a, v);
    widen_vector<Value>(b, w);
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) v[i] += w[i];
    return round_vector<Value>(v);
  }
};

}  // namespace heddle
