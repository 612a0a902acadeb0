// K with scales per channel: Q times the scales of a tile's block of tokens, and the tiles whose
// tokens are in the residual window.
//
// Each lane converts some pairs of scales for the whole warp, in the order of K's decoded elements:
// to FP16, divided by the power of two that brings the largest of them to one. Q has its largest
// element at 2^13, so the products, rounded once, lose no bits above 2^-33 of the largest Q times
// the largest scale. What zero points add to a logit is the sum of Q times its scales times them,
// which the tensor core computes once a tile.
#pragma once

#include "attention/query.cuh"

namespace heddle {

// The residual window has K's last tokens in 16 bits: [slots][heads][tokens][elements of K]. This
// is the row of a tile's first token; null if the sequence has no slot.
template <class S>
__device__ __forceinline__ const u8* residual_tile(const AttentionParameters& arguments,
                                                   const KvSplit& split, int token) {
  int slot = split.sequence;
  if (arguments.residual_slots != nullptr)
    slot = static_cast<int>(load_global_4_l2(arguments.residual_slots + slot));
  if (static_cast<u32>(slot) >= static_cast<u32>(arguments.residual_slot_count)) return nullptr;
  const i64 block = static_cast<i64>(slot) * S::kKvHeads + S::kv_head(split.work_head);
  const i64 row = block * S::Key::kBlockTokens + token % S::Key::kBlockTokens;
  return arguments.k_residual + row * S::kResidualRowBytes;
}

// Prefetches a tile's tokens, of which `left` are there, into the L2 cache.
template <class S>
__device__ __forceinline__ void prefetch_residual_tile(const AttentionParameters& arguments,
                                                       const KvSplit& split, int token, int left,
                                                       int lane) {
  const u8* rows = residual_tile<S>(arguments, split, token);
  if (rows == nullptr) return;
  const int bytes = (left < kAttentionTile ? left : kAttentionTile) * S::kResidualRowBytes;
#pragma unroll 1
  for (int at = 128 * lane; at < bytes; at += 32 * 128) prefetch_l2(rows + at);
}

// Reads rows, cache, logits and places of S.
template <class S>
struct AttentionChannels {
  using Key = typename S::Key;
  using Codes = typename Key::Codes;
  using Query = AttentionQuery<S>;
  using Element = typename S::Element;
  static constexpr int kAllPairs = S::kKeyDim / 2;
  static constexpr int kLanePairs = (kAllPairs + 31) / 32;  // that a lane makes ready
  static constexpr int kZeroOffset = 2 * S::kKeyDim;
  static constexpr bool kSums = Codes::kInteger;

  // Makes of Q what the tile's codes are multiplied with. `entries`: its scales, which are
  // overwritten. All lanes of the warp call it.
  static __device__ __forceinline__ void scale(u32 entries, const Query& query, Query& scaled,
                                               int t, int lane) {
    scaled.factor = query.factor * ready(entries, lane);
    if constexpr (S::kQueryInShared) scaled.address = query.address + S::kQueryBytes / 2;
    float sums[S::kRowTiles][4] = {};
#pragma unroll
    for (int i = 0; i < Query::kPairs; i += 2) {
      const u32 at = entries + 4 * ((t + 4 * (i / Query::kVectorPairs)) * Query::kVectorPairs +
                                    i % Query::kVectorPairs);
      u32 s[2];
      u32 zero[2];
      load_two(at, s);
      if constexpr (kSums) zeros_of(at, i, zero);
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
        u32 q[2];
        query.operand(n, i, q);
        q[0] = Fp16::mul2(q[0], s[0]);
        q[1] = Fp16::mul2(q[1], s[1]);
        scaled.set_operand(n, i, q);
        if constexpr (kSums) {
          const u32 a[4] = {zero[0], zero[0], zero[1], zero[1]};
          MmaAmpere::mma16816(Fp16{}, sums[n], a, q[0], q[1]);
        }
      }
    }
    if constexpr (kSums) {
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
        scaled.sums[0][n][0] = sums[n][0];
        scaled.sums[0][n][1] = sums[n][1];
      }
    }
  }

  // Logits of a tile in the residual window, which begins at `token`, from global memory: few tiles
  // are.
  static __device__ __forceinline__ void residual(const AttentionParameters& arguments,
                                                  const KvSplit& split, int token, int length,
                                                  typename S::Logits& logits, int g, int t) {
    const u8* keys = residual_tile<S>(arguments, split, token);
    const int left = keys == nullptr ? 0 : length - token;
    float sums[S::kRowTiles][2][4] = {};
    // A step is 32 elements, 8 of each lane and row. Loads of kAhead steps are in flight.
    constexpr int kSteps = (S::kKeyDim + 31) / 32;
    constexpr int kAhead = kSteps % 2 == 0 ? 2 : 1;
#pragma unroll 1
    for (int step = 0; step < kSteps; step += kAhead) {
      u32x4 k[kAhead][4];
      u32x4 q[kAhead][S::kRowTiles];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int element = 32 * (step + i) + 8 * t;
        const bool inside = S::kKeyDim % 32 == 0 || element < S::kKeyDim;
#pragma unroll
        for (int octet = 0; octet < 4; ++octet) {
          const int row = 8 * octet + g;
          k[i][octet] = inside && row < left
                            ? load_global_16_l2(keys + row * S::kResidualRowBytes + 2 * element)
                            : u32x4{0, 0, 0, 0};
        }
#pragma unroll
        for (int n = 0; n < S::kRowTiles; ++n) {
          const u8* row = Query::row_of(arguments, split, n, g);
          q[i][n] = inside && row != nullptr ? load_global_16_coherent(row + 2 * element)
                                             : u32x4{0, 0, 0, 0};
        }
      }
#pragma unroll
      for (int i = 0; i < kAhead * S::kRowTiles; ++i) {
        const int n = i % S::kRowTiles;
        add_step(sums[n], k[i / S::kRowTiles], q[i / S::kRowTiles][n]);
      }
    }
    S::for_each_logit([&](int n, int octet, int c) {
      logits[n][octet][c] = sums[n][octet / 2][octet % 2 * 2 + c] * Query::logit_factor();
    });
  }

 private:
  static __device__ __forceinline__ void add_step(float (&sums)[2][4], const u32x4 (&k)[4],
                                                  const u32x4& q) {
#pragma unroll
    for (int m16 = 0; m16 < 2; ++m16) {
      const u32x4& low = k[2 * m16];
      const u32x4& high = k[2 * m16 + 1];
      const u32 a[4] = {low.x, high.x, low.y, high.y};
      const u32 b[4] = {low.z, high.z, low.w, high.w};
      MmaAmpere::mma16816(Element{}, sums[m16], a, q.x, q.y);
      MmaAmpere::mma16816(Element{}, sums[m16], b, q.z, q.w);
    }
  }

  // In place of the scales come pairs of them in the order of Q's, and behind those, where there
  // are zero points, theirs as codes. Returns what the scales were divided by.
  static __device__ __forceinline__ float ready(u32 entries, int lane) {
    float scales[kLanePairs][2];
    u32 zeros[kLanePairs];
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < kLanePairs; ++i) {
      const int pair = lane + 32 * i;
      if (kAllPairs % 32 != 0 && pair >= kAllPairs) continue;
      float zero[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const u32 at = entries + Codes::key_element(pair, j) * Key::kScaleBytes;
        scales[i][j] = Key::Scale::load_shared(at);
        if constexpr (Key::kZeros) zero[j] = Key::Scale::load_shared(at + Key::Scale::kBytes);
        most = Query::finite_max(most, scales[i][j]);
      }
      if constexpr (Key::kZeros) {
        // Zero points become bits of subnormal numbers, as K's codes are.
        const float unit = float_from_bits((127 - 24 + Codes::key_shift(pair)) << 23);
        zeros[i] = Fp16::from_floats(zero[0] * unit, zero[1] * unit);
      }
    }
    most = warp_max(most);
    // The power of two and its inverse are normal numbers.
    u32 exponent = bits_of_float(most) >> 23;
    exponent = exponent < 1 ? 1 : exponent > 253 ? 253 : exponent;
    const float down = float_from_bits((254 - exponent) << 23);
    warp_barrier();
#pragma unroll
    for (int i = 0; i < kLanePairs; ++i) {
      const int pair = lane + 32 * i;
      if (kAllPairs % 32 != 0 && pair >= kAllPairs) continue;
      store_shared_4(entries + 4 * pair,
                     Fp16::from_floats(scales[i][0] * down, scales[i][1] * down));
      if constexpr (Key::kZeros) store_shared_4(entries + kZeroOffset + 4 * pair, zeros[i]);
    }
    warp_barrier();
    return float_from_bits(exponent << 23);
  }

  static __device__ __forceinline__ void load_two(u32 at, u32 (&two)[2]) {
    const u64 both = load_shared_8(at);
    two[0] = static_cast<u32>(both);
    two[1] = static_cast<u32>(both >> 32);
  }
  // The codes of zero of the pairs from `pair` on.
  static __device__ __forceinline__ void zeros_of(u32 at, int pair, u32 (&zero)[2]) {
    if constexpr (Key::kZeros) {
      load_two(at + kZeroOffset, zero);
    } else {
      u32 middle[Query::kWordPairs];
      Codes::keys(Query::kMiddleWord, middle);
      zero[0] = middle[pair % Query::kWordPairs];
      zero[1] = middle[(pair + 1) % Query::kWordPairs];
    }
  }
};

}  // namespace heddle
