// S^T = K Q^T of a tile: logits of 32 tokens for every row, times log2(e) (AttentionRows::Logits
// says which a lane has). mask.cuh then takes out those of tokens that are not seen.
#pragma once

#include "attention/query.cuh"

namespace heddle {

// Reads rows, cache (Key) and places of S.
template <class S>
struct AttentionScores {
  using Key = typename S::Key;
  using Codes = typename Key::Codes;
  using Query = AttentionQuery<S>;
  static constexpr int kVectorWords = Key::kVectorBytes / 4;
  static constexpr int kVectors = Key::kRowBytes / (4 * Key::kVectorBytes);  // of a lane and row
  // Instructions alternate between two accumulators, so that none waits for the one before. With
  // codes of 4 bits an SM has enough warps to hide that latency, and adding the accumulators up
  // costs more; but tiles of several pages only fit the registers with two.
  static constexpr bool kAlternates =
      S::kRowTiles == 1 && S::kKeyDim <= 128 && (Codes::kBits != 4 || !S::kOnePage);
  static constexpr int kAccumulators = kAlternates ? 2 : 1;

  typename S::Logits logits;  // [row tile][octet][row]

  // The tile's dot products with the scales of K.
  __device__ __forceinline__ void multiply(u32 tile, u32 entries, const Query& query,
                                           const TensorScale& tensor, int g, int t) {
    float sums[S::kRowTiles][2][kAccumulators][4];
    u64 fours[4];
    if constexpr (Key::kFourScales) {
#pragma unroll
      for (int octet = 0; octet < 4; ++octet)
        fours[octet] = load_shared_8(entries + (8 * octet + g) * Key::kEntryStride);
    }
    const u32 first = Key::first_vector(g, t);
    constexpr int kRowStride = 16 * Key::kStride;
#pragma unroll
    for (int group = 0; group < Key::kGroups; ++group) {
      start(sums, query, group);
      // A vector of one pair is half an operand: two vectors make one.
      constexpr int kTogether = Query::kVectorPairs % 2 == 0 ? 1 : 2;
      constexpr int kGroupVectors = kVectors / Key::kGroups;
#pragma unroll
      for (int vector = group * kGroupVectors; vector < (group + 1) * kGroupVectors;
           vector += kTogether) {
#pragma unroll
        for (int m16 = 0; m16 < 2; ++m16) {
          u32 low[kTogether * Query::kVectorPairs];
          u32 high[kTogether * Query::kVectorPairs];
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            const u32 at = tile + Key::vector_offset(first, vector + i);
            read(at + 16 * m16 * kRowStride, low + i * Query::kVectorPairs);
            read(at + (16 * m16 + 8) * kRowStride, high + i * Query::kVectorPairs);
          }
          if constexpr (Key::kScalesCodes) {
            const u32 of_token = entries + (16 * m16 + g) * Key::kEntryStride;
            scale(of_token, vector, t, low);
            scale(of_token + 8 * Key::kEntryStride, vector, t, high);
          }
#pragma unroll
          for (int i = 0; i < kTogether * Query::kVectorPairs; i += 2) {
            const u32 a[4] = {low[i], high[i], low[i + 1], high[i + 1]};
            const int pair = vector * Query::kVectorPairs + i;
#pragma unroll
            for (int n = 0; n < S::kRowTiles; ++n) {
              u32 b[2];
              query.operand(n, pair, b);
              MmaAmpere::mma16816(typename Codes::Value{}, sums[n][m16][pair / 2 % kAccumulators],
                                  a, b[0], b[1]);
            }
          }
        }
      }
      finish(entries, fours, sums, query, tensor, group, g);
    }
  }

 private:
  static __device__ __forceinline__ void start(float (&sums)[S::kRowTiles][2][kAccumulators][4],
                                               const Query& query, int group) {
    // Codes are stored with a bias, so that none is negative: the sums begin at minus its product.
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        float from = 0.0f;
        if constexpr (Codes::kInteger && (!Key::kZeros || Key::kScalesQuery))
          from = -query.sums[group][n][v % 2];
        sums[n][v / 4][0][v % 4] = from;
        if (kAccumulators > 1) sums[n][v / 4][kAccumulators - 1][v % 4] = 0.0f;
      }
    }
  }

  static __device__ __forceinline__ void read(u32 at, u32* pairs) {
    u32 words[kVectorWords];
    if constexpr (Key::kVectorBytes == 16) {
      const u32x4 v = load_shared_16(at);
      words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
    } else if constexpr (Key::kVectorBytes == 8) {
      const u64 v = load_shared_8(at);
      words[0] = static_cast<u32>(v), words[1] = static_cast<u32>(v >> 32);
    } else {
      words[0] = load_shared_4(at);
    }
#pragma unroll
    for (int i = 0; i < kVectorWords; ++i)
      Codes::keys(words[i],
                  *reinterpret_cast<u32(*)[Query::kWordPairs]>(pairs + i * Query::kWordPairs));
  }

  // Multiplies a lane's vector of a token, as read() has decoded it, by the scales of its groups of
  // 16 elements.
  static __device__ __forceinline__ void scale(u32 of_token, int vector, int t, u32* pairs) {
    constexpr int kScales = kVectorWords / 2;
    static_assert(kScales == 1 || kScales == 2, "a vector is one group or two");
    const u32 at = of_token + kScales * (4 * vector + t);
    const u32 codes = prmt<0x1100>(kScales == 2 ? load_shared_2(at) : load_shared_1(at), 0);
    const u32 scales[2] = {fp16_from_e4m3(codes), fp16_from_e4m3(shr<16>(codes))};
#pragma unroll
    for (int i = 0; i < Query::kVectorPairs; ++i)
      pairs[i] = Fp16::mul2(pairs[i], scales[i / (2 * Query::kWordPairs)]);
  }

  // Makes logits of the sums of a group with its scales.
  __device__ __forceinline__ void finish(u32 entries, const u64 (&fours)[4],
                                         const float (&sums)[S::kRowTiles][2][kAccumulators][4],
                                         const Query& query, const TensorScale& tensor, int group,
                                         int g) {
#pragma unroll
    for (int octet = 0; octet < 4; ++octet) {
      float scale = query.factor * tensor.scale;
      float zero = tensor.zero;
      if constexpr (Key::kFourScales) {
        scale *= Key::Scale::of_four(fours[octet], group);
      } else if constexpr (Key::kScalesSums) {
        const u32 at = entries + (8 * octet + g) * Key::kEntryStride + group * Key::kScaleBytes;
        scale *= Key::Scale::load_shared(at);
        if constexpr (Key::kZeros) zero = Key::Scale::load_shared(at + Key::Scale::kBytes);
      }
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const float(&all)[kAccumulators][4] = sums[n][octet / 2];
          const int v = octet % 2 * 2 + c;
          float sum = kAccumulators > 1 ? all[0][v] + all[kAccumulators - 1][v] : all[0][v];
          if constexpr (Key::kZeros && !Key::kScalesQuery) sum -= zero * query.sums[group][n][c];
          const float logit = sum * scale;
          logits[n][octet][c] = group == 0 ? logit : logits[n][octet][c] + logit;
        }
      }
    }
  }
};

}  // namespace heddle
