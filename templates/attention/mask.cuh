// What a logit becomes besides the dot product: softcap, the bias of ALiBi, and which tokens a
// query sees at all. Logits are those of a lane (AttentionRows::Logits), times log2(e).
#pragma once

#include "attention/scheduler.cuh"
#include "primitives/float.cuh"

namespace heddle {

constexpr float kLog2E = 1.4426950408889634f;

// softcap * tanh(x / softcap) = softcap - 2 softcap / (1 + e^(2 x / softcap)), times log2(e), of
// 2 x / softcap * log2(e), which AttentionQuery::logit_factor() makes of the logit x.
template <int kCap>
struct Softcap {
  static constexpr float kFactor = 2.0f / kCap;
  static __device__ __forceinline__ void apply(float& logit) {
    constexpr float kMost = kLog2E * kCap;
    logit = kMost - 2.0f * kMost * reciprocal_fast(1.0f + exp2_fast(logit));
  }
};
template <>
struct Softcap<0> {
  static constexpr float kFactor = 1.0f;
  static __device__ __forceinline__ void apply(float&) {}
};

// The distance of a query and a token, times the slope of the query's head.
template <class S, Alibi kAlibi = S::kAlibi>
struct AlibiBias {
  float slope[S::kRowTiles][S::kLaneRows];  // times log2(e)

  __device__ __forceinline__ void load(const AttentionParameters& arguments, int n, int c,
                                       int head) {
    slope[n][c] =
        kLog2E * (kAlibi == Alibi::kGiven ? arguments.slopes[head] : standard_slope(head));
  }
  __device__ __forceinline__ void add(float& logit, int n, int c, int distance) const {
    logit += slope[n][c] * static_cast<float>(distance);
  }

 private:
  // The slope of head i of n is 2^(-8 (i + 1) / n) where n is a power of two. Else the first heads
  // have the slopes of the power of two below n, and the others every other one of the power above.
  static __device__ __forceinline__ float standard_slope(int head) {
    constexpr int kBelow = power_of_two_below(S::kQueryHeads);
    const int step = head < kBelow ? 2 * (head + 1) : 2 * (head - kBelow) + 1;
    return exp2_fast(-4.0f / kBelow * static_cast<float>(step));
  }
  static __device__ constexpr int power_of_two_below(int n) {
    return n == 1 ? 1 : 2 * power_of_two_below(n / 2);
  }
};
template <class S>
struct AlibiBias<S, Alibi::kNone> {
  __device__ __forceinline__ void load(const AttentionParameters&, int, int, int) {}
  __device__ __forceinline__ void add(float&, int, int, int) const {}
};

// Which tokens a query sees: those of the window that ends with it, and the sink tokens.
template <class S, bool kHasWindow = (S::kWindow > 0)>
struct SeenTokens {
  static __device__ __forceinline__ bool sees(int token, int position) {
    bool is = token <= position;
    is = is && (token > position - S::kWindow || token < S::kSinkTokens);
    return is;
  }
  // Whether all queries of a sequence see the whole tile that begins at `token`.
  static __device__ __forceinline__ bool all_see(int token, const int& length) {
    bool all = token + kAttentionTile <= length - (S::kQueryLen - 1);
    all = all && (token >= length - S::kWindow || token + kAttentionTile <= S::kSinkTokens);
    return all;
  }
};
template <class S>
struct SeenTokens<S, false> {
  static __device__ __forceinline__ bool sees(int token, int position) { return token <= position; }
  static __device__ __forceinline__ bool all_see(int token, const int& length) {
    return token + kAttentionTile <= length - (S::kQueryLen - 1);
  }
};

// The mask of a lane's queries. Reads rows and logits of S.
template <class S>
struct AttentionMask {
  using Cap = Softcap<S::kSoftcap>;
  using Seen = SeenTokens<S>;

  int length;                                // of the sequence
  int position[S::kRowTiles][S::kLaneRows];  // of the query in its sequence
  AlibiBias<S> bias;

  __device__ __forceinline__ void load(const AttentionParameters& arguments, const KvSplit& split,
                                       int sequence_length, int t) {
    length = sequence_length;
    const int first = S::first_row(split.work_head);
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < S::kLaneRows; ++c) {
        int row = first + kQueryTile * n + S::kLaneRows * t + c;
        if (S::kRows % kQueryTile != 0 && row >= S::kRows) row = S::kRows - 1;
        position[n][c] = length - S::kQueryLen;
        if constexpr (S::kQueryLen > 1) position[n][c] += row / S::kGroup;
        bias.load(arguments, n, c, S::kv_head(split.work_head) * S::kGroup + row % S::kGroup);
      }
    }
  }

  // Changes a lane's logits of the tile that begins at `token`.
  __device__ __forceinline__ void apply(typename S::Logits& logits, int token, int g) const {
    S::for_each_logit([&](int n, int octet, int c) { Cap::apply(logits[n][octet][c]); });
    S::for_each_logit([&](int n, int octet, int c) {
      bias.add(logits[n][octet][c], n, c, token + 8 * octet + g - position[n][c]);
    });
    if (Seen::all_see(token, length)) return;
    S::for_each_logit([&](int n, int octet, int c) {
      if (!Seen::sees(token + 8 * octet + g, position[n][c]))
        logits[n][octet][c] = float_from_bits(0xff800000u);
    });
  }
};

}  // namespace heddle
