// Codes of eight bits whose scales are found in registers (WarpgroupConfig::finds_in_registers()),
// of rows of W that are rows of the instruction: a group's 128 outputs of a token are in the lanes
// of one or more warpgroups.
//
// Floors, of a warpgroup's 64 rows and 256 tokens: 16 KB of codes to Y, through shared memory and
// back. Budget of a thread with 128 sums of them, computed, in instructions:
//
//   the larger magnitude of rows g and g + 8     64
//   the largest of 8 lanes: 32 tokens at a time become one a lane, in 7 shuffles, 14 selections and
//   7 maxima                                    224, and 8 stores
//   the scale of a token, one or two a thread    80
//   inverses 32 loads, products 128, codes 64, pairs of them 32
//   to shared memory 8 stores, back 8 loads, 32 to sort, 8 stores of 16 bytes
//
// or some 6 for each 32 outputs, with addresses 8, beside 2.6 that scale sums of tokens and
// channels, and 3 barriers a tile and one a pass.
//
// Order: magnitudes of each warp to shared memory; a thread for each token makes its scale of all
// warps' and puts its inverse there; each pass of tokens becomes codes, which stmatrix transposes
// on their way. A lane has rows g and g + 8 of a token, whose codes are the two bytes of an element
// of its matrices; with gates outputs g of both row tiles, or of its only one.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/warpgroup.cuh"
#include "steps/output.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

template <class Config>
struct WgmmaFoundRows {
  using S = WgmmaShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = typename Sums::Sum;
  using AllSums = Sum[S::kRowTiles][S::kOwnSums];
  using Result = typename Config::Result;
  using O = Output<Config>;
  static constexpr bool kGated = Config::value.epilogue.gated;
  static constexpr int kTiles = kGated ? 1 : S::kRowTiles;  // of outputs, with a pass for each
  static constexpr int kGroupWarpgroups = O::kScaleRows / (64 * S::kRowTiles);
  static constexpr int kPassTokens =
      S::tokens_of_pass(S::kPairs ? S::kOwnTokens / 2 : S::kOwnTokens);
  static constexpr int kPasses = kTiles * (S::kOwnTokens / kPassTokens);
  static constexpr int kStored = kPassTokens % 32 == 0 ? 32 : 16;  // tokens at once
  static_assert(kPassTokens % 32 == 0 || kPassTokens == 16, "whole pairs of matrices");

  WgmmaMemory<Config> memory;
  const O& output;
  int m;
  int warpgroup, thread;  // of the warpgroup
  int first_tile;         // of 64 rows, of the warpgroup's

  static __device__ __forceinline__ void run(const WgmmaStore<Config>& store, const Piece& piece,
                                             AllSums& sum, const TileShare<Config>& share) {
    const int place = share.place;
    const int tokens = share.tokens;
    // Hides the thread's number: the compiler would keep addresses that follow from it in registers
    // through the main loop.
    u32 own = store.thread;
    pin(own);
    WgmmaFoundRows{store.memory,    store.output,          store.m,
                   store.warpgroup, static_cast<int>(own), store.first_tile_of(piece)}
        .end(sum, tokens, [&](int i) { return store.token_at(piece, place + i); });
  }

 private:
  // Ends the warpgroup's first `tokens` tokens. `token_at(i)` is the ith, or negative.
  template <class TokenAt>
  __device__ __forceinline__ void end(AllSums& sum, int tokens, const TokenAt& token_at) const {
    if constexpr (kGated) gate(sum, tokens);
    // Codes of the tile before have been read; with scales of tokens these have waited for it.
    if constexpr (!Config::value.byte_tokens() || Config::value.scales_blocks())
      warpgroup_barrier(1 + warpgroup);
    put_magnitudes(sum, tokens);
    meet_group();
    find_scales(tokens, token_at);
    meet_group();
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row_tile = pass % kTiles;
      const int first = pass / kTiles * kPassTokens;
      if (S::kPairs && first >= tokens) break;
      // The place of the codes of two passes ago, which the barrier of the pass between has freed.
      const u32 codes = memory.pass(warpgroup) + pass % 2 * kPassTokens * Config::value.kCodeRow;
      put(sum, row_tile, first, codes);
      warpgroup_barrier(1 + warpgroup);
      store(codes, row_tile, first, token_at);
    }
  }

  // The warpgroups that have rows of the group.
  __device__ __forceinline__ void meet_group() const {
    warpgroups_barrier<kGroupWarpgroups>(kGroupWarpgroups == 1 ? 1 + warpgroup
                                                               : 1 + S::kWarpgroups + group());
  }
  // The warpgroup's group of outputs in the tile.
  __device__ __forceinline__ int group() const { return warpgroup / kGroupWarpgroups; }

  // Outputs in the places of gates. Sums that are scaled may be zeros with a sign.
  __device__ __forceinline__ static void gate(AllSums& sum, int tokens) {
#pragma unroll
    for (int i = 0; i < S::kOwnSums; i += 4) {
      if (S::kPairs && 2 * i >= tokens) break;
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
        for (int j = i; j < i + 2; ++j) {
          const float y = O::gated(scaled(sum[r][j]), scaled(sum[r][j + 2]));
          sum[r][j] = Sums::of_bits(bits_of_float(y));
        }
      }
    }
  }
  static __device__ __forceinline__ float scaled(Sum sum) {
    return power_of_two<O::kLeftExponent>(0.0f + Sums::as_float(sum));
  }
  // An output, of gates from the place of the first.
  static __device__ __forceinline__ float value(Sum sum) {
    return kGated ? Sums::as_float(sum) : power_of_two<O::kLeftExponent>(Sums::as_float(sum));
  }

  // Lane 4g + t has tokens 2t and 2t + 1 of each eight. Of kStored tokens each lane ends up with
  // one, or two lanes with the same.
  __device__ __forceinline__ void put_magnitudes(const AllSums& sum, int tokens) const {
    constexpr int kCount = kStored / 4;  // of a lane
    const int lane = thread % 32;
    const int place = lane / 4 * kCount / 8;  // of them that is left
    const u32 to =
        warp_magnitude(warpgroup, thread / 32, 8 * (place / 2) + lane % 4 * 2 + place % 2);
#pragma unroll
    for (int first = 0; first < S::kOwnTokens; first += kStored) {
      if (S::kPairs && first >= tokens) break;
      float most[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        most[i] = largest_of_rows(sum, first / 2 + i / 2 * 4 + i % 2);
      share_largest<16, 4>(most, lane);  // of the lanes of a t
      if (kCount == 8 || lane / 4 % 2 == 0) store_shared_float(to + 4 * first, most[0]);
    }
  }
  // The largest magnitude of a token's rows that the lane has, of which the first's sum is at i.
  __device__ __forceinline__ float largest_of_rows(const AllSums& sum, int i) const {
    float most = 0.0f;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < (kGated ? 1 : 2); ++half) {
        float size = fabsf(value(sum[r][i + 2 * half]));
        if (!is_inside(r, thread / 32, 8 * half)) size = 0.0f;
        most = r + half == 0 ? size : max_or_nan(most, size);
      }
    }
    return most;
  }
  // Whether W has row `row` of a warp's row block.
  __device__ __forceinline__ bool is_inside(int row_tile, int warp, int row) const {
    return !S::kRowsMayEnd || row_of(row_tile, warp) + row < output.shape.n;
  }
  __device__ __forceinline__ int row_of(int row_tile, int warp) const {
    return 64 * (first_tile + row_tile) + 16 * warp;
  }
  // Magnitudes of warps: where codes are later, [4][kOwnTokens] of a warpgroup.
  __device__ __forceinline__ u32 warp_magnitude(int of_warpgroup, int warp, int token) const {
    return memory.pass(of_warpgroup) + 4 * (warp * S::kOwnTokens + token);
  }
  static_assert(4 * 4 * S::kOwnTokens <= Config::value.pass_bytes(), "they have room");

  // All threads of the group's warpgroups share the tokens.
  template <class TokenAt>
  __device__ __forceinline__ void find_scales(int tokens, const TokenAt& token_at) const {
    const int own = warpgroup % kGroupWarpgroups;
    const int row = 64 * (first_tile - own * S::kRowTiles);
#pragma unroll 1
    for (int i = 128 * own + thread; i < tokens; i += 128 * kGroupWarpgroups) {
      float most = 0.0f;
#pragma unroll
      for (int warp = 0; warp < 4 * kGroupWarpgroups; ++warp) {
        const u32 at = warp_magnitude(warpgroup - own + warp / 4, warp % 4, i);
        most = max_or_nan(most, float_from_bits(load_shared_4(at)));
      }
      const FoundScale scale = Result::scale_of(most);
      store_shared_4(memory.inverse(group(), i),
                     bits_of_float(scale.of_codes.inverse) & scale.of_codes.mask);
      const int token = token_at(i);
      if (token < 0 || (S::kRowsMayEnd && row >= output.shape.n)) continue;
      output.store_scale(token, row, m, scale);
    }
  }

  // Codes of a pass, of kPassTokens tokens from the warpgroup's first one on and 64 rows.
  __device__ __forceinline__ void put(const AllSums& sum, int row_tile, int first,
                                      u32 codes) const {
    const int lane = thread % 32;
    const u32 to = codes + lane % kStored * Config::value.kCodeRow + thread / 32 * 16;
    const u32 inverses = memory.inverse(group(), first + lane % 4 * 2);
#pragma unroll
    for (int i = 0; i < kPassTokens; i += kStored) {
      u32 of_eight[kStored / 8];
#pragma unroll
      for (int j = 0; j < kStored / 8; ++j) {
        const u64 two = load_shared_8(inverses + 4 * (i + 8 * j));
        const int at = (first + i) / 2 + 4 * j;
        of_eight[j] = prmt<0x5410>(codes_at(sum, row_tile, at, static_cast<u32>(two)),
                                   codes_at(sum, row_tile, at + 1, static_cast<u32>(two >> 32)));
      }
      const u32 place = to + i * Config::value.kCodeRow;
      if constexpr (kStored == 32) {
        store_matrices_transposed(place, {of_eight[0], of_eight[1], of_eight[2], of_eight[3]});
      } else {
        store_two_matrices_transposed(place, of_eight[0], of_eight[1]);
      }
    }
  }
  // The lane's two codes of a token, of which the first's sum is at i.
  static __device__ __forceinline__ u32 codes_at(const AllSums& sum, int row_tile, int i,
                                                 u32 inverse) {
    const float low = value(sum[row_tile][i]);
    float high = 0.0f;
    if constexpr (!kGated) high = value(sum[row_tile][i + 2]);
    if constexpr (kGated && S::kRowTiles == 2) high = value(sum[1][i]);
    return Result::template pair<!kGated>(low, high, float_from_bits(inverse));
  }

  // Four threads write 64 rows of a token. Codes of a scale that is NaN are zero.
  template <class TokenAt>
  __device__ __forceinline__ void store(u32 codes, int row_tile, int first,
                                        const TokenAt& token_at) const {
    const int warp = thread % 4;
    const int own = thread / 4;  // token
    constexpr int kVectors = (kPassTokens + 31) / 32;
    const u32 from = codes + own * Config::value.kCodeRow + 16 * warp;
    u32x4 values[kVectors];
    u32 inverses[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (kPassTokens % 32 != 0 && own >= kPassTokens) continue;
      values[i] = load_shared_16(from + 32 * i * Config::value.kCodeRow);
      inverses[i] = load_shared_4(memory.inverse(group(), first + 32 * i + own));
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (kPassTokens % 32 != 0 && own >= kPassTokens) continue;
      const int token = token_at(first + 32 * i + own);
      if (token < 0) continue;
      const u32x4& v = values[i];
      const u32 mask = inverses[i] != 0 ? 0xffffffffu : 0;
      const u32x4 sorted = {prmt<0x6420>(v.x, v.y) & mask, prmt<0x6420>(v.z, v.w) & mask,
                            prmt<0x7531>(v.x, v.y) & mask, prmt<0x7531>(v.z, v.w) & mask};
      u8* const y = output.y + output.offset_of(token, row_of(row_tile, warp));
      if constexpr (!kGated && !S::kRowsMayEnd) {
        store_global_16(y, sorted);
      } else {
        constexpr int kNextTile = kGated ? S::kRowTiles - 1 : 0;
        constexpr int kNextRow = kGated ? 0 : 8;
        if (is_inside(row_tile, warp, 0)) store_global_8(y, sorted.x, sorted.y);
        if (kGated && S::kRowTiles == 1) continue;
        if (is_inside(row_tile + kNextTile, warp, kNextRow)) {
          store_global_8(y + (kGated ? 32 : 8), sorted.z, sorted.w);
        }
      }
    }
  }
};

}  // namespace heddle
