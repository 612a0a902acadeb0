// Sums of products of codes of eight bits: scaled, once all of K has been added, by the scale of
// the token and that of the row. With ScaleMode::kGroup sums have met those of the rows already.
#pragma once

#include "primitives/codes.cuh"
#include "primitives/float.cuh"
#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "steps/config.h"
#include "steps/sums.cuh"
#include "steps/weight_shape.h"

namespace heddle {

// Integers, in registers and in the bits of floats where they go through memory.
struct IntegerSums {
  using Sum = u32;
  static constexpr u32 kNothing = 0;
  static __device__ __forceinline__ void add(u32* sums, f32x4 v) {
    sums[0] += bits_of_float(v.x);
    sums[1] += bits_of_float(v.y);
    sums[2] += bits_of_float(v.z);
    sums[3] += bits_of_float(v.w);
  }
  static __device__ __forceinline__ float as_float(u32 sum) { return float_from_bits(sum); }
  static __device__ __forceinline__ u32 of_bits(u32 bits) { return bits; }
  static __device__ __forceinline__ f32x4 four(const u32* sums) {
    return {as_float(sums[0]), as_float(sums[1]), as_float(sums[2]), as_float(sums[3])};
  }
};

template <class Sum>
struct SumArithmetic : FloatSums {};
template <>
struct SumArithmetic<u32> : IntegerSums {};

// OfSum: u32, of INT8, or float.
template <class OfSum>
struct ByteSums : SumArithmetic<OfSum> {
  using Sum = OfSum;

  const u8* x_scales;       // FP32: one for each token, or one in all
  const u8* x_zero_points;  // int32, of each token, with token_zeros

  __device__ __forceinline__ ByteSums(const u8* x_scales, const u8* x_zero_points)
      : x_scales(x_scales), x_zero_points(x_zero_points) {}

  // What the sums of a token, or of a row, are multiplied by, and what is taken off them: the
  // product of the token's zero point and the row's sum of codes.
  struct OfToken {
    float scale;
    int zero_point;
  };
  struct OfRows {
    RowPair scale;
    int sum_low, sum_high;
  };

  // An output in the place of its sum: of integers its bits. Of integers three roundings: to FP32,
  // and of each product.
  template <class Config>
  static __device__ __forceinline__ void scale(Sum& sum, const OfToken& token, float row_scale,
                                               int row_sum) {
    const float scaled = multiply(value(sum, token.zero_point, row_sum), token.scale);
    constexpr bool kHasMetRows = Config::value.scaling.mode == ScaleMode::kGroup;
    store_in(sum, kHasMetRows ? scaled : multiply(scaled, row_scale));
  }

  // Begins to copy what there is of a token to shared memory. Another kernel may have written it:
  // to be called behind wait_for_predecessor().
  template <class Config>
  __device__ __forceinline__ void fetch_token(int token, u32 to) const {
    const i64 at = 4 * static_cast<i64>(token);
    copy_async_small<4>(to, Config::value.scale_per_token ? x_scales + at : x_scales, 4);
    if constexpr (Config::value.token_zeros) {
      copy_async_small<4>(to + zero_offset<Config>(), x_zero_points + at, 4);
    }
  }
  // Loads what there is of a token, and of two neighbouring ones, from there.
  template <class Config>
  static __device__ __forceinline__ OfToken load_token(u32 from) {
    u32 zero_point = 0;
    if constexpr (Config::value.token_zeros)
      zero_point = load_shared_4(from + zero_offset<Config>());
    return {float_from_bits(load_shared_4(from)), static_cast<int>(zero_point)};
  }
  // Reads a token's scale, without zero points, from where it was written: behind
  // wait_for_predecessor().
  template <class Config>
  __device__ __forceinline__ OfToken read_token(int token) const {
    static_assert(!Config::value.token_zeros);
    const i64 at = Config::value.scale_per_token ? 4 * static_cast<i64>(token) : 0;
    return {float_from_bits(load_global_4_l2(x_scales + at)), 0};
  }
  struct OfTwoTokens {
    OfToken token[2];
  };
  template <class Config>
  static __device__ __forceinline__ OfTwoTokens load_tokens(u32 from) {
    const u64 scales = load_shared_8(from);
    u64 zeros = 0;
    if constexpr (Config::value.token_zeros) zeros = load_shared_8(from + zero_offset<Config>());
    return {{{float_from_bits(static_cast<u32>(scales)), static_cast<int>(zeros)},
             {float_from_bits(static_cast<u32>(scales >> 32)), static_cast<int>(zeros >> 32)}}};
  }

  // What there is of rows g and g + 8 of a row block; past the last one zeros, but ones with
  // kGroup.
  template <class Config>
  static __device__ __forceinline__ OfRows of_rows(const u8* weights, const WeightShape& shape,
                                                   int row_block, int g) {
    constexpr PackedWeights kWeights = Config::value.weights;
    if constexpr (Config::value.scaling.mode == ScaleMode::kGroup) return {{1.0f, 1.0f}, 0, 0};
    if (row_block >= shape.row_blocks) return {};
    const u8* entries =
        weights + shape.channel_offset + static_cast<i64>(row_block) * kWeights.channel_bytes;
    OfRows rows{};
    rows.scale = Config::Scale::load_global(entries + g * Config::Scale::kPairBytes);
    constexpr int kExponent = Config::value.scaling.result_exponent;
    rows.scale = {power_of_two<kExponent>(rows.scale.low),
                  power_of_two<kExponent>(rows.scale.high)};
    if constexpr (Config::value.token_zeros) {
      const u8* sums = entries + kWeights.channel_sum_offset + 8 * g;
      rows.sum_low = static_cast<int>(load_global_4(sums));
      rows.sum_high = static_cast<int>(load_global_4(sums + 4));
    }
    return rows;
  }

 private:
  static __device__ __forceinline__ float value(float sum, int, int) { return sum; }
  static __device__ __forceinline__ float value(u32 sum, int zero_point, int row_sum) {
    return static_cast<float>(
        static_cast<int>(sum - static_cast<u32>(zero_point) * static_cast<u32>(row_sum)));
  }
  static __device__ __forceinline__ void store_in(float& sum, float output) { sum = output; }
  static __device__ __forceinline__ void store_in(u32& sum, float output) {
    sum = bits_of_float(output);
  }

  template <class Config>
  static __device__ __forceinline__ constexpr u32 zero_offset() {
    return 4 * Config::value.own_tokens();
  }
};

}  // namespace heddle
