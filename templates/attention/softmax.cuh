// The running softmax of a warp.
//
// P = 2^(logit - reference). The reference follows the row's largest logit only when one exceeds it
// by kRise (as in FlashAttention-4), so that nearly all tiles neither reduce nor rescale. The same
// holds for the scales of V, which multiply P before it is rounded to 16 bits: they are divided by
// a power of two that follows the largest. FP16 then keeps all of P's bits down to 2^-21 of the
// largest product.
#pragma once

#include "attention/values.cuh"
#include "primitives/scale.cuh"

namespace heddle {

// Reads rows and cache (Val) of S.
template <class S>
struct AttentionSoftmax {
  using Val = typename S::Val;
  using Codes = typename Val::Codes;
  using Value = typename Codes::Value;
  static constexpr float kRise = 4.0f;
  // The largest P is 2^kHeadroom times what the reference makes of it.
  static constexpr float kHeadroom = 7.0f;
  static constexpr float kNothing = -1e30f;  // a reference before the first token

  float reference[S::kRowTiles][2];
  float sum[S::kRowTiles][2];  // of P, over the lane's tokens
  float inverse = 0x1p100f;    // what scales of V are multiplied with
  AttentionValues<S> values;

  __device__ __forceinline__ AttentionSoftmax() {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        reference[n][c] = kNothing;
        sum[n][c] = 0.0f;
      }
    }
  }

  // `tile` and `entries`: of V, in shared memory. Tokens from `left` on are none.
  __device__ __forceinline__ void add(u32 tile, u32 entries, typename S::Logits& logits,
                                      const TensorScale& tensor, int left, int g, int t, int lane) {
    float scales[4][Val::kGroups];
    load_scales(entries, scales, left, g);
    raise(logits, scales);
    S::for_each_logit([&](int n, int octet, int c) {
      const float p = exp2_fast(logits[n][octet][c] - reference[n][c]);
      logits[n][octet][c] = p;
      sum[n][c] += p;
    });
#pragma unroll
    for (int group = 0; group < Val::kGroups; ++group) {
      u32 p[S::kRowTiles][4];
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
        for (int octet = 0; octet < 4; ++octet) {
          float low = logits[n][octet][0];
          float high = logits[n][octet][1];
          if constexpr (Val::kScalesSums) {
            low *= scales[octet][group];
            high *= scales[octet][group];
          }
          p[n][octet] = transpose_8x8(Value::from_floats(low, high));
        }
      }
      values.add(tile, entries, p, group, g, t, lane);
      values.add_zero_points(entries, p, tensor, group, t);
    }
  }

  // The output's element in row tile n, tile m, register v, before the division by the sum of P.
  __device__ __forceinline__ float value(int n, int m, int v) const {
    const float x = values.value(n, m, v);
    return Val::kScalesSums ? x * power_inverse(inverse) : x;
  }

 private:
  __device__ __forceinline__ void load_scales(u32 entries, float (&scales)[4][Val::kGroups],
                                              int left, int g) const {
    if constexpr (Val::kScalesSums) {
#pragma unroll
      for (int octet = 0; octet < 4; ++octet) {
        const u32 entry = entries + (8 * octet + g) * Val::kEntryStride;
        u64 four = 0;
        if constexpr (Val::kFourScales) four = load_shared_8(entry);
#pragma unroll
        for (int group = 0; group < Val::kGroups; ++group) {
          if constexpr (Val::kFourScales) {
            scales[octet][group] = Val::Scale::of_four(four, group);
          } else {
            scales[octet][group] = Val::Scale::load_shared(entry + group * Val::kScaleBytes);
          }
        }
      }
      // The word of the last token's scale may also hold bytes that no one has written.
      if (Val::kEntryBytes == 2 && left < kAttentionTile) {
#pragma unroll
        for (int octet = 0; octet < 4; ++octet)
          if (8 * octet + g >= left) scales[octet][0] = 0.0f;
      }
    }
  }

  // New references where a logit or a scale has left the old ones behind.
  __device__ __forceinline__ void raise(const typename S::Logits& logits,
                                        float (&scales)[4][Val::kGroups]) {
    bool above = false;
    float most[S::kRowTiles][2];
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        most[n][c] = larger(larger(logits[n][0][c], logits[n][1][c]),
                            larger(logits[n][2][c], logits[n][3][c]));
        above = above || most[n][c] > reference[n][c] + (kHeadroom + kRise);
      }
    }
    float scale = 0.0f;
    if constexpr (Val::kScalesSums) {
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i)
        scale = larger(scale, scales[i / Val::kGroups][i % Val::kGroups]);
      above = above || scale * inverse > 4.0f;
    }
    if (any_lane(above)) rescale(most, scale);
    if constexpr (Val::kScalesSums) {
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i)
        scales[i / Val::kGroups][i % Val::kGroups] *= inverse;
    }
  }

  __device__ __forceinline__ void rescale(float (&most)[S::kRowTiles][2], float scale) {
    float all = 1.0f;
    if constexpr (Val::kScalesSums) {
      scale = larger(scale, shuffle_xor(scale, 4));
      scale = larger(scale, shuffle_xor(scale, 8));
      scale = larger(scale, shuffle_xor(scale, 16));
      if (scale * inverse > 4.0f) {
        const u32 exponent = bits_of_float(scale) >> 23;
        const float next = float_from_bits((exponent > 250 ? 3 : 253 - exponent) << 23);
        all = next * power_inverse(inverse);
        inverse = next;
      }
    }
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      float factor[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float top = most[n][c];
        top = larger(top, shuffle_xor(top, 4));
        top = larger(top, shuffle_xor(top, 8));
        top = larger(top, shuffle_xor(top, 16));
        const float next = larger(reference[n][c], top - kHeadroom);
        factor[c] = exp2_fast(reference[n][c] - next);
        reference[n][c] = next;
        sum[n][c] *= factor[c];
        factor[c] *= all;
      }
      values.scale(n, factor);
    }
  }

  // 1 / x of a power of two.
  static __device__ __forceinline__ float power_inverse(float x) {
    return float_from_bits(0x7f000000u - bits_of_float(x));
  }
};

}  // namespace heddle
