// The end of a tile whose sums become outputs in registers (WarpgroupConfig::rounds_first()): they
// go through shared memory as 16 bits, of codes of eight bits the low ones, so that neighbouring
// rows of a token are written together.
#pragma once

#include "primitives/mma.cuh"
#include "steps/output.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

// A pass's outputs to shared memory, [tokens][kRoundedRow] of 16 bits.
template <class Config>
struct WgmmaRoundedPass {
  using S = WgmmaShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = typename Sums::Sum;
  static constexpr bool kGated = Config::value.epilogue.gated;
  static constexpr int kRoundedRow = Config::value.kRoundedRow;

  WgmmaMemory<Config> memory;
  int warpgroup, thread;  // of the warpgroup
  typename Output<Config>::Result::Scale scale;

  // Tokens of a row tile: each warp's part transposed by stmatrix. Of four matrices of 8 rows by 8
  // tokens two are of rows, then those of the next tokens.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put(const Sum (&sums)[kCount], int first) const {
    const int lane = thread % 32;
    if constexpr (kGated) return put_gated<kTokens>(sums, first);
    const u32 to = memory.pass(warpgroup) + 2 * ((lane / 16 * 8 + lane % 8) * kRoundedRow +
                                                 thread / 32 * 16 + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < kTokens; i += 16) {
      const Sum* v = sums + (first + i) / 2;
      store_matrices_transposed(to + 2 * i * kRoundedRow,
                                {rounded(v), rounded(v + 2), rounded(v + 4), rounded(v + 6)});
    }
  }

  // 64 tokens, which are rows of the instruction, and 64 rows of W: a lane has rows 2t and 2t + 1
  // of each eight, of its warp's tokens g and g + 8.
  __device__ __forceinline__ void put_token_rows(const Sum* sums) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = memory.pass(warpgroup) + 2 * ((thread / 32 * 16 + g) * kRoundedRow + 2 * t);
    constexpr u32 kEightTokens = 2 * 8 * kRoundedRow;
#pragma unroll
    for (int i = 0; i < 32; i += kGated ? 8 : 4) {
      const Sum* v = sums + i;
      const u32 at = to + 2 * 8 * (kGated ? i / 8 : i / 4);
      store_shared_4(at, kGated ? gated(v[0], v[4], v[1], v[5]) : rounded(v));
      store_shared_4(at + kEightTokens, kGated ? gated(v[2], v[6], v[3], v[7]) : rounded(v + 2));
    }
  }

 private:
  // Gates and ups of a row tile, rows g and g + 8 of a warp's row block, which one lane has: all
  // matrices are of tokens, four or two of them.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put_gated(const Sum (&sums)[kCount], int first) const {
    constexpr int kStored = kTokens % 32 == 0 ? 32 : 16;  // tokens at once
    static_assert(kTokens % kStored == 0, "whole pairs of matrices");
    const int lane = thread % 32;
    const u32 to = memory.pass(warpgroup) + 2 * (lane % kStored * kRoundedRow + thread / 32 * 8);
#pragma unroll
    for (int i = 0; i < kTokens; i += kStored) {
      const Sum* v = sums + (first + i) / 2;
      const u32 at = to + 2 * i * kRoundedRow;
      if constexpr (kStored == 32) {
        store_matrices_transposed(at, {gated(v), gated(v + 4), gated(v + 8), gated(v + 12)});
      } else {
        store_two_matrices_transposed(at, gated(v), gated(v + 4));
      }
    }
  }

  static __device__ __forceinline__ float scaled(Sum sum) {
    return power_of_two<Output<Config>::kLeftExponent>(Sums::as_float(sum));
  }
  __device__ __forceinline__ u32 rounded(const Sum* pair) const {
    return Output<Config>::Result::rounded(scaled(pair[0]), scaled(pair[1]), scale);
  }
  __device__ __forceinline__ u32 gated(const Sum* four) const {
    return gated(four[0], four[2], four[1], four[3]);
  }
  // Outputs of two gates and their ups.
  __device__ __forceinline__ u32 gated(Sum gate, Sum up, Sum next_gate, Sum next_up) const {
    using O = Output<Config>;
    const float low = O::gated(scaled(gate), scaled(up));
    const float high = O::gated(scaled(next_gate), scaled(next_up));
    return O::Result::rounded(low, high, scale);
  }
};

// What both ends of this kind have in common: 64 rows of kTokens tokens at a time.
template <class Config>
struct WgmmaRoundedRows {
  using S = WgmmaShape<Config>;
  using Piece = typename Config::Schedule::PieceType;
  using Store = WgmmaStore<Config>;
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kRowThreads = 64 / kRows;  // that write a token's outputs of 64 rows

  static __device__ __forceinline__ WgmmaRoundedPass<Config> pass(const Store& store) {
    return {store.memory, store.warpgroup, store.thread,
            Output<Config>::Result::load_scale(store.output.y_scales)};
  }

  // Eight threads write 64 rows of a token, four those of gates and ups. Shared memory is free
  // before they do.
  template <int kTokens>
  static __device__ __forceinline__ void store(const Store& store, const Piece& piece, int place,
                                               int first_row) {
    constexpr int kAtOnce = 128 / kRowThreads;  // tokens
    constexpr int kVectors = (kTokens + kAtOnce - 1) / kAtOnce;
    constexpr int kRoundedRow = Config::value.kRoundedRow;
    const int own = store.thread / kRowThreads;  // token
    const int vector = store.thread % kRowThreads;
    const u32 from = store.memory.pass(store.warpgroup) + 2 * (own * kRoundedRow + vector * 8);
    const int row = first_row + vector * kRows;
    const auto is_of_pass = [&](int i) {
      return kTokens % kAtOnce == 0 || kAtOnce * i + own < kTokens;
    };
    u32x4 values[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (is_of_pass(i)) values[i] = load_shared_16(from + 2 * kAtOnce * i * kRoundedRow);
    }
    warpgroup_barrier(1 + store.warpgroup);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int token = store.token_at(piece, place + kAtOnce * i + own);
      if (token < 0 || (S::kRowsMayEnd && row >= store.output.shape.n)) continue;
      if (!is_of_pass(i)) continue;
      Output<Config>::Result::store_rounded(store.output.y + store.output.offset_of(token, row),
                                            values[i]);
    }
  }
};

template <class Config>
struct WgmmaRoundedEnd {
  using S = WgmmaShape<Config>;
  using Piece = typename Config::Schedule::PieceType;
  using Rows = WgmmaRoundedRows<Config>;
  using Store = WgmmaStore<Config>;
  static constexpr int kPassTokens = Store::kPassTokens;
  static_assert(kPassTokens % 16 == 0, "stmatrix stores 16 tokens");

  static __device__ __forceinline__ void run(const Store& store, const Piece& piece,
                                             typename Store::AllSums& sum,
                                             const TileShare<Config>& share) {
    const int place = store.place_of(share);
    const int first_tile = store.first_tile_of(piece);
    const int passes = Store::passes_of(piece, place, share);
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
      const int first = pass / S::kRowTiles * kPassTokens;
      const int row = 64 * (first_tile + pass % S::kRowTiles);
      Store::of_pass(sum, pass, [&](const typename Store::RowSums& sums, int first_of_pass) {
        Rows::pass(store).template put<kPassTokens>(sums, first_of_pass);
      });
      warpgroup_barrier(1 + store.warpgroup);
      Rows::template store<kPassTokens>(store, piece, place + first, row);
    }
  }
};

// The end of tokens that are rows of the instruction: a pass takes 64 of them and 64 rows of W.
template <class Config>
struct WgmmaTokenRowsEnd {
  using S = WgmmaShape<Config>;
  using Piece = typename Config::Schedule::PieceType;
  using Rows = WgmmaRoundedRows<Config>;
  using Store = WgmmaStore<Config>;
  static constexpr int kPassesOf128 = S::kOwnSums / 32;  // of 128 rows of W; of a half half as many

  static __device__ __forceinline__ void run(const Store& store, const Piece& piece,
                                             typename Store::AllSums& sum,
                                             const TileShare<Config>& share) {
    const bool is_half = share.is_half();
    const int first = share.is_second() ? kPassesOf128 / 2 : 0;
#pragma unroll 1
    for (int pass = 0; pass < S::kRowTiles * kPassesOf128; ++pass) {
      const int i = pass % kPassesOf128;
      if (is_half && i >= kPassesOf128 / 2) continue;
      put(store, sum, pass);
      warpgroup_barrier(1 + store.warpgroup);
      Rows::template store<64>(store, piece,
                               S::kBoxTokens * store.warpgroup + 64 * ((first + i) / 2),
                               64 * (piece.row_tile + 2 * (pass / kPassesOf128) + (first + i) % 2));
    }
  }

 private:
  static __device__ __forceinline__ void put(const Store& store, const typename Store::AllSums& sum,
                                             int pass) {
#pragma unroll
    for (int i = 0; i < S::kRowTiles * kPassesOf128; ++i) {
      if (i != pass) continue;
      Rows::pass(store).put_token_rows(sum[i / kPassesOf128] + 32 * (i % kPassesOf128));
    }
  }
};

}  // namespace heddle
