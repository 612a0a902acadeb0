// Codes of eight bits whose scales are found (EpilogueConfig::finds_scales) where outputs depend on
// more than their sums: what becomes of a pass's sums in shared memory, in the first turn the
// largest magnitude of 64 rows of each token, in the second codes, by the scale of all magnitudes
// of the token's group.
#pragma once

#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "warpgroup/float_end.cuh"

namespace heddle {

template <class Config>
struct WgmmaFoundScales {
  using S = WgmmaShape<Config>;
  using Result = typename Config::Result;
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kRowThreads = 64 / kRows;                       // that have a token's rows
  static constexpr int kGroupTiles = Config::value.scale_rows() / 64;  // of the rows of a group

  using Store = WgmmaStore<Config>;
  static constexpr int kPassTokens = Store::kPassTokens;

  // All passes tell the largest magnitudes of their rows, then all of them again are stored. Where
  // warpgroups share the rows of a group they wait for each other.
  static __device__ __forceinline__ void run(const Store& store, const Piece& piece,
                                             typename Store::AllSums& sum,
                                             const TileShare<Config>& share) {
    const int first_tile = store.first_tile_of(piece);
    const int passes = S::kPairs ? share.tokens / kPassTokens * S::kRowTiles : Store::kPasses;
#pragma unroll 1
    for (int i = 0; i < 2 * passes; ++i) {
      const bool stores = i >= passes;
      const int pass = stores ? i - passes : i;
      const int first = share.place + pass / S::kRowTiles * kPassTokens;
      if (i == passes) meet_for_group();
      WgmmaFloatEnd<Config>::put_pass(store, sum, pass);
      warpgroup_barrier(1 + store.warpgroup);
      end_pass(store, piece, first, first_tile + pass % S::kRowTiles, stores);
      warpgroup_barrier(1 + store.warpgroup);
    }
    meet_for_group();  // the next piece has other magnitudes
  }

 private:
  static __device__ __forceinline__ void meet_for_group() {
    if constexpr (!Config::value.has_own_groups()) {
      warpgroups_barrier<S::kWarpgroups>(1 + S::kWarpgroups);
    }
  }

  // Takes up kPassTokens tokens from `place` on and 64 rows.
  static __device__ __forceinline__ void end_pass(const Store& store, const Piece& piece, int place,
                                                  int row_tile, bool stores) {
    const WgmmaMemory<Config>& memory = store.memory;
    const Output<Config>& output = store.output;
    const int tile = row_tile % S::kTileRowTiles;
#pragma unroll
    for (int i = store.thread; i < kPassTokens * kRowThreads; i += 128) {
      const int own = i / kRowThreads;
      const int token = store.token_at(piece, place + own);
      const int own_row = i % kRowThreads * kRows;
      const int row = 64 * row_tile + own_row;
      const bool inside = token >= 0 && (!S::kRowsMayEnd || row < output.shape.n);
      const i64 offset = output.offset_of(token, row);
      Sums8 y = {};
      if (inside) {
        const u32 at = memory.pass(store.warpgroup) + 4 * (own * Config::value.kPassRow + own_row);
        y = output.outputs(offset, row, [&](int half) {
          Sums8 sum = {};
          add_floats(sum, load_shared_floats(at + 32 * half),
                     load_shared_floats(at + 32 * half + 16));
          return sum;
        });
      }
      if (!stores) {
        put_magnitude(memory, tile, place + own, y, own_row == 0);
      } else if (inside) {
        output.store_codes(token, row, store.m, y,
                           Result::scale_of(magnitude(memory, tile, place + own)));
      }
    }
  }

  // Called by all threads of a token, neighbouring lanes.
  static __device__ __forceinline__ void put_magnitude(const WgmmaMemory<Config>& memory, int tile,
                                                       int place, const Sums8& y, bool is_first) {
    const float most = largest_of_lanes<kRowThreads>(largest_magnitude(y));
    if (is_first) store_shared_float(memory.magnitude(tile, place), most);
  }
  // The largest magnitude of the token's group.
  static __device__ __forceinline__ float magnitude(const WgmmaMemory<Config>& memory, int tile,
                                                    int place) {
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < kGroupTiles; ++i) {
      const u32 at = memory.magnitude(tile / kGroupTiles * kGroupTiles + i, place);
      most = max_or_nan(most, float_from_bits(load_shared_4(at)));
    }
    return most;
  }
};

}  // namespace heddle
