// From the sums of eight neighbouring outputs of one token to Y: scale, bias, activation, residual,
// one rounding, a 16-byte store.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "steps/activation.cuh"
#include "steps/config.h"

namespace heddle {

// Eight neighbouring outputs of one token.
struct Sums8 {
  float v[8];
};

__device__ __forceinline__ void add_floats(Sums8& sum, u32x4 low, u32x4 high) {
  sum.v[0] += __uint_as_float(low.x);
  sum.v[1] += __uint_as_float(low.y);
  sum.v[2] += __uint_as_float(low.z);
  sum.v[3] += __uint_as_float(low.w);
  sum.v[4] += __uint_as_float(high.x);
  sum.v[5] += __uint_as_float(high.y);
  sum.v[6] += __uint_as_float(high.z);
  sum.v[7] += __uint_as_float(high.w);
}

template <class Config>
struct Output {
  using Value = typename Config::Value;
  static constexpr int kRowBlock = 16;
  // Of the power of two what neither the weights' scales nor those of the sums have taken.
  static constexpr int kLeftExponent =
      Config::value.scaling.mode == ScaleMode::kWeight ? Config::value.scaling.result_exponent : 0;

  const u8* weights;  // the whole packed buffer, for scales per channel and per tensor
  u8* y;
  const u8* bias;
  const u8* residual;

  // Outputs row .. row + 7 of the token.
  __device__ __forceinline__ void store(int token, int row, Sums8 sum) const {
    const i64 offset = 2 * (static_cast<i64>(token) * Config::value.weights.n + row);
    if constexpr (Config::value.scaling.mode == ScaleMode::kChannel) scale_channels(row, sum);
    if constexpr (Config::value.weights.tensor_scale) {
      scale_all(power_of_two<kLeftExponent>(tensor_scale()), sum);
    } else if constexpr (kLeftExponent != 0) {
      scale_all(power_of_two<kLeftExponent>(1.0f), sum);
    }
    if constexpr (Config::value.epilogue.bias) add_values(load_global_16(bias + 2 * row), sum);
#pragma unroll
    for (float& v : sum.v) v = activate<Config::value.epilogue.activation>(v);
    if constexpr (Config::value.epilogue.residual)
      add_values(load_global_16_coherent(residual + offset), sum);
    store_global_16(
        y + offset,
        {Value::from_floats(sum.v[0], sum.v[1]), Value::from_floats(sum.v[2], sum.v[3]),
         Value::from_floats(sum.v[4], sum.v[5]), Value::from_floats(sum.v[6], sum.v[7])});
  }

 private:
  static __device__ __forceinline__ void add_values(u32x4 values, Sums8& sum) {
    const u32 pairs[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum.v[2 * i] += Value::low_to_float(pairs[i]);
      sum.v[2 * i + 1] += Value::high_to_float(pairs[i]);
    }
  }

  // Row g of a row block lies beside row g + 8: eight rows are every other scale.
  __device__ __forceinline__ void scale_channels(int row, Sums8& sum) const {
    const u8* scales = weights + Config::value.weights.channel_offset +
                       static_cast<i64>(row / kRowBlock) * Config::value.weights.channel_bytes;
    const bool upper = row % kRowBlock != 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowPair pair = Config::Scale::load_global(scales + i * Config::Scale::kPairBytes);
      sum.v[i] *= power_of_two<Config::value.scaling.result_exponent>(upper ? pair.high : pair.low);
    }
  }

  __device__ __forceinline__ float tensor_scale() const {
    return *reinterpret_cast<const float*>(weights + Config::value.weights.tensor_offset);
  }

  static __device__ __forceinline__ void scale_all(float scale, Sums8& sum) {
#pragma unroll
    for (float& v : sum.v) v *= scale;
  }
};

}  // namespace heddle
