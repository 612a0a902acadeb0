// A norm of each row, with statistics in FP32. row_transform.cuh has floors, budget and order.
//
// A row's statistics are the same bits in every launch: each thread adds its own elements in their
// order, and RowReduce those of the threads.
#pragma once

#include "primitives/float.cuh"
#include "row_transform/norm_row.cuh"

namespace heddle {

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

// The mean and the factor of a row's norm, from the thread's sum. deviations(mean, sum) adds the
// squares of the thread's values less the mean, which a LayerNorm asks for.
template <class Config, class Deviations>
__device__ __forceinline__ void find_statistics(RowReduce<Config>& reduce, int lane, float sum,
                                                const Deviations& deviations, float& mean,
                                                float& factor) {
  sum = reduce(sum, lane, AddNumbers());
  mean = 0.0f;
  if constexpr (NormRow<Config>::kLayer) {
    mean = mean_of<Config>(sum);
    sum = 0.0f;
    deviations(mean, sum);
    sum = reduce(sum, lane, AddNumbers());
  }
  factor = norm_factor<Config>(sum);
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
    const auto deviations = [&](float of, float& squares) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (row.place.has(i)) NormRow<Config>::add_deviations(s[i], of, squares);
      }
    };
    find_statistics(reduce, row.place.lane, sum, deviations, mean, factor);
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
    const auto deviations = [&](float of, float& squares) {
      for (int first = 0; first < kAll; first += kCount) {
        u32x4 s[kCount];
        row.template load_again<kCount>(first, s);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (row.place.has(first + i)) NormRow<Config>::add_deviations(s[i], of, squares);
        }
      }
    };
    find_statistics(reduce, row.place.lane, sum, deviations, mean, factor);
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
