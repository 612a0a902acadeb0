// A norm of each row, with statistics in FP32. row_transform.cuh has floors, budget and order.
//
// A row's statistics are the same bits in every launch: each thread adds its own elements in their
// order, and RowReduce those of the threads.
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
  // The same once load() has been there: what this thread has read or written.
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

// The mean, from the sum over a row. The division is a call, on purpose: the compiler keeps vectors
// as 16-bit values over a call, where it would else widen all of them ahead of the sum.
template <class Config>
__device__ __forceinline__ float mean_of(float sum) {
  return divide(sum, static_cast<float>(Config::value.columns));
}

// 1 / sqrt(mean + epsilon) of the sum of a row's squares.
template <class Config>
__device__ __forceinline__ float norm_factor(float squares) {
  return reciprocal_root_fast(mean_of<Config>(squares) +
                              float_from_bits(static_cast<u32>(Config::value.epsilon_bits)));
}

// A row that stays in registers. See write_row().
template <class Config, class Weights>
struct HeldNorm {
  static constexpr int kCount = Config::value.vectors;

  const RowTransformParameters& p;
  const NormRow<Config>& row;
  const Weights& held;
  u32x4 s[kCount];
  float mean;
  float factor;

  __device__ __forceinline__ void load(RowReduce<Config>& reduce) {
    constexpr int kChunk =
        Config::value.residual ? min_of(kCount, RowTransformConfig::kChunkVectors) : kCount;
    constexpr int kLeft = kCount % kChunk;
#pragma unroll
    for (int i = 0; i < kCount / kChunk; ++i) row.template load<kChunk>(kChunk * i, s + kChunk * i);
    if constexpr (kLeft != 0) row.template load<kLeft>(kCount - kLeft, s + kCount - kLeft);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kCount; ++i) NormRow<Config>::add(s[i], sum);
    sum = reduce(sum, row.place.lane, AddNumbers());
    mean = 0.0f;
    if constexpr (NormRow<Config>::kLayer) {
      mean = mean_of<Config>(sum);
      sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (row.place.has(i)) NormRow<Config>::add_deviations(s[i], mean, sum);
      }
      sum = reduce(sum, row.place.lane, AddNumbers());
    }
    factor = norm_factor<Config>(sum);
  }

  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
    if constexpr (Config::value.holds_weights) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float v[kVectorElements];
        NormRow<Config>::values(s[i], mean, factor, held, i, v);
        take(i, v);
      }
    } else {
      constexpr int kWeights = Config::value.chunk_weights();
#pragma unroll
      for (int first = 0; first < kCount; first += kWeights) {
        NormWeights<Config, kWeights> some;
        some.load(p, row.place, first);
#pragma unroll
        for (int i = 0; i < min_of(kWeights, kCount - first); ++i) {
          float v[kVectorElements];
          NormRow<Config>::values(s[first + i], mean, factor, some, i, v);
          take(first + i, v);
        }
      }
    }
  }
};

// One that no block's registers hold.
template <class Config>
struct LongNorm {
  static constexpr int kCount = Config::value.vectors;
  static constexpr int kAll =
      static_cast<int>(ceil_div(Config::value.row_vectors(), Config::value.lanes));

  const RowTransformParameters& p;
  const NormRow<Config>& row;
  float mean;
  float factor;

  __device__ __forceinline__ void load(RowReduce<Config>& reduce) {
    float sum = 0.0f;
    for (int first = 0; first < kAll; first += kCount) {
      u32x4 s[kCount];
      row.template load<kCount>(first, s);
#pragma unroll
      for (int i = 0; i < kCount; ++i) NormRow<Config>::add(s[i], sum);
    }
    sum = reduce(sum, row.place.lane, AddNumbers());
    mean = 0.0f;
    if constexpr (NormRow<Config>::kLayer) {
      mean = mean_of<Config>(sum);
      sum = 0.0f;
      for (int first = 0; first < kAll; first += kCount) {
        u32x4 s[kCount];
        row.template load_again<kCount>(first, s);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (row.place.has(first + i)) NormRow<Config>::add_deviations(s[i], mean, sum);
        }
      }
      sum = reduce(sum, row.place.lane, AddNumbers());
    }
    factor = norm_factor<Config>(sum);
  }

  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
    for (int first = 0; first < kAll; first += kCount) {
      u32x4 s[kCount];
      NormWeights<Config, kCount> weights;
      row.template load_again<kCount>(first, s);
      weights.load(p, row.place, first);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float v[kVectorElements];
        NormRow<Config>::values(s[i], mean, factor, weights, i, v);
        take(first + i, v);
      }
    }
  }
};

template <class Config>
__device__ __forceinline__ void normalize_rows(const RowTransformParameters& p) {
  extern __shared__ __align__(128) u8 shared_memory[];
  RowReduce<Config> reduce(shared_address(shared_memory));
  using Weights = NormWeights<Config, Config::value.holds_weights ? Config::value.vectors : 1>;
  Weights held;
  if constexpr (Config::value.holds_weights) held.load(p, RowPlace<Config>(), 0);
  begin_rows<Config>();
  const RowScale given = given_row_scale<Config>(p);
  for_each_row<Config>(p.m, [&](i64 row, const RowPlace<Config>& place) {
    u8* residual = nullptr;
    if constexpr (Config::value.residual) {
      residual = place.begin(p.residual + row * (2 * Config::value.columns));
    }
    const NormRow<Config> here{place, place.begin(p.x + row * p.x_stride), residual};
    RowOutput<Config> output(p, row, place, given);
    if constexpr (Config::value.in_registers) {
      HeldNorm<Config, Weights> norm{p, here, held};
      norm.load(reduce);
      write_held_row(output, reduce, norm);
    } else {
      LongNorm<Config> norm{p, here};
      norm.load(reduce);
      write_row(output, reduce, norm);
    }
  });
}

}  // namespace heddle
