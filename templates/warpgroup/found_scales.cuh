// Codes of eight bits whose scales are found (EpilogueConfig::finds_scales) where outputs depend on
// more than their sums: what becomes of a pass's sums in shared memory, in the first turn the
// largest magnitude of 64 rows of each token, in the second codes, by the scale of all magnitudes
// of the token's group.
#pragma once

#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaFoundScales {
  using S = WgmmaShape<Config>;
  using Result = typename Config::Result;
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kRowThreads = 64 / kRows;                       // that have a token's rows
  static constexpr int kGroupTiles = Config::value.scale_rows() / 64;  // of the rows of a group

  WgmmaMemory<Config> memory;
  const Output<Config>& output;
  int m;
  int warpgroup, thread;  // of the warpgroup

  // Of kTokens tokens from `place` on and 64 rows. `token_at(place)` is the token, or negative.
  template <int kTokens, class TokenAt>
  __device__ __forceinline__ void run(int place, int row_tile, bool stores,
                                      const TokenAt& token_at) const {
    const int tile = row_tile % S::kTileRowTiles;
#pragma unroll
    for (int i = thread; i < kTokens * kRowThreads; i += 128) {
      const int own = i / kRowThreads;
      const int token = token_at(place + own);
      const int own_row = i % kRowThreads * kRows;
      const int row = 64 * row_tile + own_row;
      const bool inside = token >= 0 && (!S::kRowsMayEnd || row < output.shape.n);
      const i64 offset = output.offset_of(token, row);
      Sums8 y = {};
      if (inside) {
        const u32 at = memory.pass(warpgroup) + 4 * (own * S::kPassRow + own_row);
        y = output.outputs(offset, row, [&](int half) {
          Sums8 sum = {};
          add_floats(sum, load_shared_floats(at + 32 * half),
                     load_shared_floats(at + 32 * half + 16));
          return sum;
        });
      }
      if (!stores) {
        put_magnitude(tile, place + own, y, own_row == 0);
      } else if (inside) {
        output.store_codes(token, row, m, y, Result::scale_of(magnitude(tile, place + own)));
      }
    }
  }

 private:
  // By all threads of a token, neighbouring lanes.
  __device__ __forceinline__ void put_magnitude(int tile, int place, const Sums8& y,
                                                bool is_first) const {
    const float most = largest_of_lanes<kRowThreads>(largest_magnitude(y));
    if (is_first) store_shared_float(memory.magnitude(tile, place), most);
  }
  // That of the token's group.
  __device__ __forceinline__ float magnitude(int tile, int place) const {
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
