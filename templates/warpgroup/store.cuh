// Sums of a warpgroup to Y, through shared memory, so that neighbouring rows of a token are written
// together.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"
#include "schedule/piece.cuh"
#include "steps/output.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaStore {
  using S = WgmmaShape<Config>;

  WgmmaMemory<Config> memory;
  Output<Config> output;
  int m;
  int warpgroup, thread;  // of the warpgroup

  // Stores to Y, through shared memory, the sums of the warpgroup's tokens from `place` of the
  // piece on.
  template <int kCount>
  __device__ __forceinline__ void run(Piece piece, const float (&sum)[S::kRowTiles][kCount],
                                      int place) const {
    // Else the tokens' numbers, the same for every piece, would keep registers while it multiplies.
    u32 first_token = piece.first_token;
    pin(first_token);
    piece.first_token = static_cast<int>(first_token);
    constexpr int kTokens = S::tokens_of_pass(2 * kCount);
    if constexpr (S::kSplitsColumns) place += warpgroup * S::kOwnTokens;
    const int first_tile = piece.row_tile + (S::kSplitsColumns ? 0 : S::kRowTiles * warpgroup);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const int row = 64 * (first_tile + r);
#pragma unroll
      for (int first = 0; first < 2 * kCount; first += kTokens) {
        if constexpr (S::kRoundsFirst) {
          put_rounded<kTokens>(sum[r], first);
        } else {
          put<kTokens>(sum[r], first);
        }
        warpgroup_barrier(1 + warpgroup);
        if constexpr (S::kRoundsFirst) {
          store_rounded<kTokens>(piece, place + first, row);
        } else {
          store_pass<kTokens>(piece, place + first, row);
          warpgroup_barrier(1 + warpgroup);
        }
      }
    }
  }

 private:
  // The token at a place of the piece; negative: none, or one that has another place, too.
  __device__ __forceinline__ int token_at(const Piece& piece, int place) const {
    const int box = S::kBoxes == 1 ? 0 : place / S::kBoxTokens * S::kBoxTokens;
    const int begin = piece.first_token + box;
    const int token = piece.first_token + place - S::early(begin, m);
    return token >= begin && token < m ? token : -1;
  }

  // Tokens of a row tile to shared memory, rounded: each warp's part transposed by stmatrix. Of
  // four matrices of 8 rows by 8 tokens two are of rows, then those of the next tokens.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put_rounded(const float (&sums)[kCount], int first) const {
    const int lane = thread % 32;
    const u32 to = memory.pass(warpgroup) + 2 * ((lane / 16 * 8 + lane % 8) * S::kRoundedRow +
                                                 thread / 32 * 16 + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < kTokens; i += 16) {
      const float* v = sums + (first + i) / 2;
      store_matrices_transposed(to + 2 * i * S::kRoundedRow,
                                {rounded(v), rounded(v + 2), rounded(v + 4), rounded(v + 6)});
    }
  }
  static __device__ __forceinline__ u32 rounded(const float* pair) {
    constexpr int kLeft = Output<Config>::kLeftExponent;
    return Config::Value::from_floats(power_of_two<kLeft>(pair[0]), power_of_two<kLeft>(pair[1]));
  }
  // Eight threads write 64 rows of a token. Shared memory is free before they do.
  template <int kTokens>
  __device__ __forceinline__ void store_rounded(const Piece& piece, int place,
                                                int first_row) const {
    const u32 from = memory.pass(warpgroup) + 2 * (thread / 8 * S::kRoundedRow + thread % 8 * 8);
    const int row = first_row + thread % 8 * 8;
    u32x4 values[kTokens / 16];
#pragma unroll
    for (int i = 0; i < kTokens / 16; ++i) {
      values[i] = load_shared_16(from + 2 * 16 * i * S::kRoundedRow);
    }
    warpgroup_barrier(1 + warpgroup);
#pragma unroll
    for (int i = 0; i < kTokens / 16; ++i) {
      const int token = token_at(piece, place + 16 * i + thread / 8);
      if (token < 0 || (S::kRowsMayEnd && row >= Config::value.weights.n)) continue;
      store_global_16(output.y + 2 * (static_cast<i64>(token) * Config::value.weights.n + row),
                      values[i]);
    }
  }

  // Tokens of a row tile to shared memory.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put(const float (&sums)[kCount], int first) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = memory.pass(warpgroup) + 4 * (2 * t * S::kPassRow + thread / 32 * 16 + g);
#pragma unroll
    for (int j = 0; j < kTokens / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_shared_float(to + 4 * ((8 * j + (i & 1)) * S::kPassRow + 8 * (i >> 1)),
                           sums[(first / 8 + j) * 4 + i]);
      }
    }
  }

  // Eight threads write 64 rows of a token, each eight of them.
  template <int kTokens>
  __device__ __forceinline__ void store_pass(const Piece& piece, int place, int first_row) const {
#pragma unroll
    for (int i = thread; i < kTokens * 8; i += 128) {
      const int token = token_at(piece, place + i / 8);
      const int row = i % 8 * 8;
      if (token < 0) continue;
      if (S::kRowsMayEnd && first_row + row >= Config::value.weights.n) continue;
      const u32 at = memory.pass(warpgroup) + 4 * (i / 8 * S::kPassRow + row);
      Sums8 sum = {};
      add_floats(sum, load_shared_16(at), load_shared_16(at + 16));
      output.store(token, first_row + row, sum);
    }
  }
};

}  // namespace heddle
