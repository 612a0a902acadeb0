// S^T = K Q^T of a tile: logits of 32 tokens for every row, times log2(e); mask.cuh takes out those
// of tokens that are not seen. A lane has tokens g, g + 8, g + 16 and g + 24, the octets, of rows
// 2t and 2t+1.
#pragma once

#include "attention/query.cuh"

namespace heddle {

template <class Config>
struct AttentionScores {
  using S = AttentionShape<Config>;
  using Key = typename S::Key;
  using Codes = typename Key::Codes;
  using Query = AttentionQuery<Config>;
  static constexpr int kPieceWords = Key::kPieceBytes / 4;
  static constexpr int kPieces = Key::kRowBytes / (4 * Key::kPieceBytes);  // of a lane and row
  // Accumulators that products alternate between, so that none waits for the one before. Where
  // codes of 4 bits fill an SM with warps there are others to wait for, and adding the sums up
  // costs more; the compiler has registers for tiles of several pages only with them.
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
    const u32 first = Key::first_piece(g, t);
    constexpr int kRowStride = 16 * Key::kStride;
#pragma unroll
    for (int group = 0; group < Key::kGroups; ++group) {
      start(sums, query, group);
      // Pairs of a piece may end inside of a step: two pieces make it whole.
      constexpr int kTogether = Query::kPiecePairs % 2 == 0 ? 1 : 2;
      constexpr int kGroupPieces = kPieces / Key::kGroups;
#pragma unroll
      for (int piece = group * kGroupPieces; piece < (group + 1) * kGroupPieces;
           piece += kTogether) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          u32 low[kTogether * Query::kPiecePairs];
          u32 high[kTogether * Query::kPiecePairs];
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            const u32 at = tile + Key::piece_place(first, piece + i);
            read(at + 16 * half * kRowStride, low + i * Query::kPiecePairs);
            read(at + (16 * half + 8) * kRowStride, high + i * Query::kPiecePairs);
          }
          if constexpr (Key::kScalesCodes) {
            const u32 of_token = entries + (16 * half + g) * Key::kEntryStride;
            scale(of_token, piece, t, low);
            scale(of_token + 8 * Key::kEntryStride, piece, t, high);
          }
#pragma unroll
          for (int i = 0; i < kTogether * Query::kPiecePairs; i += 2) {
            const u32 a[4] = {low[i], high[i], low[i + 1], high[i + 1]};
            const int pair = piece * Query::kPiecePairs + i;
#pragma unroll
            for (int n = 0; n < S::kRowTiles; ++n) {
              u32 b[2];
              query.step(n, pair, b);
              MmaAmpere::mma16816(typename Codes::Value{}, sums[n][half][pair / 2 % kAccumulators],
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
    // Codes that are not negative make up for it here.
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
    u32 words[kPieceWords];
    if constexpr (Key::kPieceBytes == 16) {
      const u32x4 v = load_shared_16(at);
      words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
    } else if constexpr (Key::kPieceBytes == 8) {
      const u64 v = load_shared_8(at);
      words[0] = static_cast<u32>(v), words[1] = static_cast<u32>(v >> 32);
    } else {
      words[0] = load_shared_4(at);
    }
#pragma unroll
    for (int i = 0; i < kPieceWords; ++i)
      Codes::keys(words[i],
                  *reinterpret_cast<u32(*)[Query::kWordPairs]>(pairs + i * Query::kWordPairs));
  }

  // What read() has made of a lane's piece of a token, times the scales of its groups of 16.
  static __device__ __forceinline__ void scale(u32 of_token, int piece, int t, u32* pairs) {
    constexpr int kScales = kPieceWords / 2;
    static_assert(kScales == 1 || kScales == 2, "a piece is one group or two");
    const u32 at = of_token + kScales * (4 * piece + t);
    const u32 codes = prmt<0x1100>(kScales == 2 ? load_shared_2(at) : load_shared_1(at), 0);
    const u32 scales[2] = {fp16_from_e4m3(codes), fp16_from_e4m3(shr<16>(codes))};
#pragma unroll
    for (int i = 0; i < Query::kPiecePairs; ++i)
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
