// The end of a tile whose outputs need more than sums: FP32 sums go through shared memory, so that
// neighbouring rows of a token are written together and meet their bias, residual or scales.
#pragma once

#include "steps/output.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

template <class Config>
struct WgmmaFloatEnd {
  using S = WgmmaShape<Config>;
  using Piece = typename Config::Schedule::PieceType;
  using Store = WgmmaStore<Config>;
  using Sums = typename Config::Sums;
  using RowSums = typename Store::RowSums;
  static constexpr int kPassTokens = Store::kPassTokens;
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kRowThreads = 64 / kRows;  // that write a token's outputs of 64 rows
  static constexpr int kPassRow = Config::value.kPassRow;

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
      put_pass(store, sum, pass);
      warpgroup_barrier(1 + store.warpgroup);
      store_pass(store, piece, place + first, row);
      warpgroup_barrier(1 + store.warpgroup);
    }
  }

  // The sums of a pass to shared memory: [kPassTokens][kPassRow] floats.
  static __device__ __forceinline__ void put_pass(const Store& store,
                                                  const typename Store::AllSums& sum, int pass) {
    Store::of_pass(sum, pass, [&](const RowSums& sums, int first) { put(store, sums, first); });
  }

 private:
  static __device__ __forceinline__ void put(const Store& store, const RowSums& sums, int first) {
    const int thread = store.thread;
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to =
        store.memory.pass(store.warpgroup) + 4 * (2 * t * kPassRow + thread / 32 * 16 + g);
#pragma unroll
    for (int j = 0; j < kPassTokens / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_shared_float(to + 4 * ((8 * j + (i & 1)) * kPassRow + 8 * (i >> 1)),
                           Sums::as_float(sums[(first / 8 + j) * 4 + i]));
      }
    }
  }

  // Eight threads write 64 rows of a token, each eight of them, or four, each a row block.
  static __device__ __forceinline__ void store_pass(const Store& store, const Piece& piece,
                                                    int place, int first_row) {
#pragma unroll
    for (int i = store.thread; i < kPassTokens * kRowThreads; i += 128) {
      const int token = store.token_at(piece, place + i / kRowThreads);
      const int row = i % kRowThreads * kRows;
      if (token < 0) continue;
      if (S::kRowsMayEnd && first_row + row >= store.output.shape.n) continue;
      const u32 at = store.memory.pass(store.warpgroup) + 4 * (i / kRowThreads * kPassRow + row);
      // A zero keeps its sign, as in the ends by registers.
      store.output.store(token, first_row + row, [&](int half) {
        return eight_sums(load_shared_floats(at + 32 * half),
                          load_shared_floats(at + 32 * half + 16));
      });
    }
  }
};

}  // namespace heddle
