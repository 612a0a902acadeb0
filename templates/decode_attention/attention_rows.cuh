// What a logit becomes besides the dot product: softcap, the bias of ALiBi, and which tokens a row
// sees at all.
#pragma once

#include "decode_attention/attention_scores.cuh"

namespace heddle {

template <class Config>
struct AttentionRows {
  using S = AttentionShape<Config>;
  static constexpr float kLog2E = 1.4426950408889634f;

  int length;
  int position[S::kRowTiles][2];  // of the row's query
  float slope[S::kRowTiles][2];   // times log2(e)

  __device__ __forceinline__ void load(const DecodeAttentionParameters& arguments,
                                       const Segment& segment, int sequence_length, int t) {
    length = sequence_length;
    const int first = segment.head % S::kRowParts * S::kBlockRows;
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        int row = first + 8 * n + 2 * t + c;
        if (S::kRows % 8 != 0 && row >= S::kRows) row = S::kRows - 1;
        position[n][c] = length - Config::value.query_len;
        if constexpr (Config::value.query_len > 1) position[n][c] += row / S::kGroup;
        if constexpr (Config::value.alibi) {
          const int head = segment.head / S::kRowParts * S::kGroup + row % S::kGroup;
          slope[n][c] =
              kLog2E * (Config::value.given_slopes ? arguments.slopes[head] : standard_slope(head));
        }
      }
    }
  }

  __device__ __forceinline__ void apply(float (&logits)[S::kRowTiles][4][2], int token,
                                        int g) const {
    if constexpr (Config::value.softcap > 0) {
#pragma unroll
      for (int i = 0; i < S::kRowTiles * 8; ++i) cap(logits[i / 8][i / 2 % 4][i % 2]);
    }
    if constexpr (Config::value.alibi) {
#pragma unroll
      for (int i = 0; i < S::kRowTiles * 8; ++i) {
        const int n = i / 8, octet = i / 2 % 4, c = i % 2;
        const int distance = token + 8 * octet + g - position[n][c];
        logits[n][octet][c] += slope[n][c] * static_cast<float>(distance);
      }
    }
    if (all_seen(token)) return;
#pragma unroll
    for (int i = 0; i < S::kRowTiles * 8; ++i) {
      const int n = i / 8, octet = i / 2 % 4, c = i % 2;
      if (!seen(token + 8 * octet + g, position[n][c]))
        logits[n][octet][c] = float_from_bits(0xff800000u);
    }
  }

 private:
  // The slope of head i of n is 2^(-8 (i + 1) / n) where n is a power of two. Else the first heads
  // have the slopes of the power of two below n, and the others every other one of the power above.
  static __device__ __forceinline__ float standard_slope(int head) {
    constexpr int kBelow = power_of_two_below(Config::value.heads);
    const int step = head < kBelow ? 2 * (head + 1) : 2 * (head - kBelow) + 1;
    return exp2_fast(-4.0f / kBelow * static_cast<float>(step));
  }
  static __device__ constexpr int power_of_two_below(int n) {
    return n == 1 ? 1 : 2 * power_of_two_below(n / 2);
  }

  // softcap * tanh(x / softcap) = softcap - 2 softcap / (1 + e^(2 x / softcap)), times log2(e), of
  // 2 x / softcap * log2(e), which AttentionQuery::logit_factor() has made of the logit x.
  static __device__ __forceinline__ void cap(float& logit) {
    constexpr float kMost = kLog2E * Config::value.softcap;
    logit = kMost - 2.0f * kMost * reciprocal_fast(1.0f + exp2_fast(logit));
  }
  // Whether every row sees all tokens of the tile that begins at `token`.
  __device__ __forceinline__ bool all_seen(int token) const {
    bool all = token + S::kTile <= length - (Config::value.query_len - 1);
    if constexpr (Config::value.window > 0)
      all = all && (token >= length - Config::value.window ||
                    token + S::kTile <= Config::value.sink_tokens);
    return all;
  }
  static __device__ __forceinline__ bool seen(int token, int position) {
    bool is = token <= position;
    if constexpr (Config::value.window > 0)
      is = is && (token > position - Config::value.window || token < Config::value.sink_tokens);
    return is;
  }
};

}  // namespace heddle
