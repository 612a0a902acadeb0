// The running softmax of a warp, and O^T += V^T P^T.
//
// P is taken against a reference that follows the largest logit only when one is kRise above it, so
// that nearly all tiles neither reduce nor rescale. The same holds for the scales of V, which
// multiply P before it is rounded to 16 bits: they are divided by a power of two that follows the
// largest. FP16 then keeps all of P's bits down to 2^-21 of the largest product.
#pragma once

#include "attention/attention_rows.cuh"
#include "primitives/scale.cuh"

namespace heddle {

template <class Config>
struct AttentionSoftmax {
  using S = AttentionShape<Config>;
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
  float out[S::kRowTiles][S::kDimTiles][4];
  // What zero points add to every element of a group: of rows 2t and 2t+1, twice.
  float excess[S::kRowTiles][Val::kGroups][4];

  __device__ __forceinline__ AttentionSoftmax() {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        reference[n][c] = kNothing;
        sum[n][c] = 0.0f;
      }
#pragma unroll
      for (int i = 0; i < 4 * S::kDimTiles; ++i) out[n][i / 4][i % 4] = 0.0f;
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i) excess[n][i / 4][i % 4] = 0.0f;
    }
  }

  // `tile` and `entries`: of V, in shared memory. Tokens from `left` on are none.
  __device__ __forceinline__ void add(u32 tile, u32 entries, float (&logits)[S::kRowTiles][4][2],
                                      const TensorScale& tensor, int left, int g, int t, int lane) {
    float scales[4][Val::kGroups];
    load_scales(entries, scales, left, g);
    raise(logits, scales);
#pragma unroll
    for (int i = 0; i < S::kRowTiles * 8; ++i) {
      const int n = i / 8, octet = i / 2 % 4, c = i % 2;
      const float p = exp2_fast(logits[n][octet][c] - reference[n][c]);
      logits[n][octet][c] = p;
      sum[n][c] += p;
    }
#pragma unroll
    for (int group = 0; group < Val::kGroups; ++group) {
      u32 p[S::kRowTiles][4];
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
        for (int octet = 0; octet < 4; ++octet) {
          float low = logits[n][octet][0];
          float high = logits[n][octet][1];
          if constexpr (Val::kGroupFactors) {
            low *= scales[octet][group];
            high *= scales[octet][group];
          }
          p[n][octet] = transpose_8x8(Value::from_floats(low, high));
        }
      }
      multiply(tile, entries, p, group, g, t, lane);
      add_excess(entries, p, tensor, group, t);
    }
  }

 private:
  __device__ __forceinline__ void load_scales(u32 entries, float (&scales)[4][Val::kGroups],
                                              int left, int g) const {
    if constexpr (Val::kGroupFactors) {
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
      // Beside the last token may be what no one has written.
      if (Val::kEntryBytes == 2 && left < S::kTile) {
#pragma unroll
        for (int octet = 0; octet < 4; ++octet)
          if (8 * octet + g >= left) scales[octet][0] = 0.0f;
      }
    }
  }

  // By the tensor core, from the same rounded P: the code that means zero, as 16 equal rows. Of
  // tokens 2t and 2t+1 of each octet.
  __device__ __forceinline__ void add_excess(u32 entries, const u32 (&p)[S::kRowTiles][4],
                                             const TensorScale& tensor, int group, int t) {
    if constexpr (Codes::kInteger) {
      u32 zeros[4];
#pragma unroll
      for (int octet = 0; octet < 4; ++octet) {
        float low = Val::kZeros ? tensor.zero : Codes::kMiddle;
        float high = low;
        if constexpr (Val::kZeros && Val::kGroupFactors) {
          const u32 at = entries + (8 * octet + 2 * t) * Val::kEntryStride +
                         group * Val::kScaleBytes + Val::Scale::kBytes;
          low = Val::Scale::load_shared(at);
          high = Val::Scale::load_shared(at + Val::kEntryStride);
        }
        zeros[octet] = Fp16::from_floats(low, high);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 a[4] = {zeros[2 * half], zeros[2 * half], zeros[2 * half + 1],
                          zeros[2 * half + 1]};
#pragma unroll
        for (int n = 0; n < S::kRowTiles; ++n)
          MmaAmpere::mma16816(Value{}, excess[n][group], a, p[n][2 * half], p[n][2 * half + 1]);
      }
    }
  }

  // New references where a logit or a scale has left the old ones behind.
  __device__ __forceinline__ void raise(const float (&logits)[S::kRowTiles][4][2],
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
    if constexpr (Val::kGroupFactors) {
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i)
        scale = larger(scale, scales[i / Val::kGroups][i % Val::kGroups]);
      above = above || scale * inverse > 4.0f;
    }
    if (any_lane(above)) rescale(most, scale);
    if constexpr (Val::kGroupFactors) {
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i)
        scales[i / Val::kGroups][i % Val::kGroups] *= inverse;
    }
  }

  __device__ __forceinline__ void rescale(float (&most)[S::kRowTiles][2], float scale) {
    float all = 1.0f;
    if constexpr (Val::kGroupFactors) {
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
#pragma unroll
      for (int i = 0; i < 4 * S::kDimTiles; ++i) out[n][i / 4][i % 4] *= factor[i % 2];
#pragma unroll
      for (int i = 0; i < 4 * Val::kGroups; ++i) excess[n][i / 4][i % 4] *= factor[i % 2];
    }
  }

  // 1 / x of a power of two.
  static __device__ __forceinline__ float power_inverse(float x) {
    return float_from_bits(0x7f000000u - bits_of_float(x));
  }

  // A tile of 16 elements at a time: its rows g and g + 8 are the two elements that dim() names.
  __device__ __forceinline__ void multiply(u32 tile, u32 entries, const u32 (&p)[S::kRowTiles][4],
                                           int group, int g, int t, int lane) {
    constexpr int kDims = Codes::kDims;
    if constexpr (kDims == 1) {
      const u32 first = tile + Val::place(lane % 16, 0);
#pragma unroll
      for (int m = 0; m < S::kDimTiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          u32 v[4];  // chunk 2m: two octets, chunk 2m + 1: the same
          ldmatrix_x4_trans(
              v, Val::chunk_place(first, 2 * m + lane / 16) + 16 * half * (16 * Val::kStride));
          const u32 a[4] = {v[0], v[2], v[1], v[3]};
          multiply_half(m, half, a, p);
        }
      }
    } else {
      constexpr int kChunkTiles = kDims / 2;
      constexpr int kGroupChunks = Val::kChunks / Val::kGroups;
      const u32 first = tile + Val::place(lane, 0);
      u32 scales[4];
#pragma unroll
      for (int chunk = group * kGroupChunks; chunk < (group + 1) * kGroupChunks; ++chunk) {
        u32 v[4];  // the four octets
        ldmatrix_x4_trans(v, Val::chunk_place(first, chunk));
        u32 pairs[4][kDims];
#pragma unroll
        for (int octet = 0; octet < 4; ++octet) Codes::values(v[octet], pairs[octet]);
        if constexpr (Val::kScaledCodes) {
          if (chunk % 2 == 0) load_chunk_scales(entries, chunk, scales, g, t);
#pragma unroll
          for (int octet = 0; octet < 4; ++octet) {
            const u32 codes = scales[octet];
            const u32 scale = fp16_from_e4m3(chunk % 2 == 0 ? codes : shr<16>(codes));
#pragma unroll
            for (int i = 0; i < kDims; ++i) pairs[octet][i] = Fp16::mul2(pairs[octet][i], scale);
          }
        }
#pragma unroll
        for (int m = 0; m < kChunkTiles; ++m) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const u32 a[4] = {pairs[2 * half][2 * m], pairs[2 * half][2 * m + 1],
                              pairs[2 * half + 1][2 * m], pairs[2 * half + 1][2 * m + 1]};
            multiply_half(chunk * kChunkTiles + m, half, a, p);
          }
        }
      }
    }
  }
  // Of an octet's tokens 2t and 2t+1, in chunk `chunk` and in the next one: the scales, e4m3, of
  // the groups of 16 that the lane has elements of.
  static __device__ __forceinline__ void load_chunk_scales(u32 entries, int chunk, u32 (&scales)[4],
                                                           int g, int t) {
    const u32 selector = 0x6240 + g / 4 * 0x1111;
#pragma unroll
    for (int octet = 0; octet < 4; ++octet) {
      const u32 at = entries + (8 * octet + 2 * t) * Val::kEntryStride + 2 * chunk;
      scales[octet] = prmt_by(load_shared_4(at), load_shared_4(at + Val::kEntryStride), selector);
    }
  }
  __device__ __forceinline__ void multiply_half(int m, int half, const u32 (&a)[4],
                                                const u32 (&p)[S::kRowTiles][4]) {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n)
      MmaAmpere::mma16816(Value{}, out[n][m], a, p[n][2 * half], p[n][2 * half + 1]);
  }

 public:
  // What the sum of V has in row tile n, tile m, register v.
  __device__ __forceinline__ float value(int n, int m, int v) const {
    constexpr int kChunkTiles = Codes::kDims > 1 ? Codes::kDims / 2 : 1;
    constexpr int kGroupTiles = S::kDimTiles / Val::kGroups;
    float x = out[n][m][v];
    if constexpr (Codes::kOddHaveEven) {
      if (v >= 2) x -= out[n][m][v - 2];
    }
    if constexpr (Codes::kExponent != 0) {
      x = power_of_two<-Codes::kExponent>(x) * Codes::element_factor(2 * (m % kChunkTiles) + v / 2);
    }
    if constexpr (Codes::kInteger) x -= excess[n][m / kGroupTiles][v % 2];
    return Val::kGroupFactors ? x * power_inverse(inverse) : x;
  }
  // Elements that follow each other from dim(m, upper, g) on, upper first and then m, m a multiple
  // of two: as many as a store takes.
  static constexpr int kNeighbours = Codes::kDims < 4 ? Codes::kDims : 4;
  // The element of head_dim in row g + 8 * upper of tile m of `out`.
  static __device__ __forceinline__ int dim(int m, int upper, int g) {
    constexpr int kDims = Codes::kDims;
    if constexpr (kDims == 1) return 16 * m + 8 * upper + g;
    constexpr int kChunkTiles = kDims / 2;
    return 8 * kDims * (m / kChunkTiles) + kDims * g + 2 * (m % kChunkTiles) + upper;
  }
};

}  // namespace heddle
