// What sums of 128 columns are multiplied by with ScaleMode::kBlock: the factor of their token,
// from shared memory, times that of their block of 128 by 128 weights, from global memory.
#pragma once

#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "schedule/piece.cuh"
#include "steps/weight_shape.h"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaBlockFactors {
  using S = WgmmaShape<Config>;
  static constexpr int kBlockBytes = 8;  // WeightLayout::block_bytes
  static constexpr bool kGated = Config::value.epilogue.gated;

  const u8* of_rows;  // of the warpgroup's first row tile in chunk 0
  int chunks;
  int row_tiles;               // that the warpgroup has of W
  RowPair next[S::kRowTiles];  // those that load() has asked for

  __device__ __forceinline__ void begin(const u8* weights, const WeightShape& shape, int first_tile,
                                        int first_chunk) {
    chunks = shape.chunks;
    row_tiles = (shape.row_blocks + 3) / 4 - first_tile;
    of_rows = weights + shape.channel_offset + static_cast<i64>(first_tile) * chunks * kBlockBytes;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) load(r, first_chunk);
  }

  // Asks for those of the rows of row tile r, or of the rth 128 rows, a chunk before they are
  // needed: they may come from the L2 cache. Only gates and ups are of two blocks. Past the end of
  // W zeros, of K any.
  __device__ __forceinline__ void load(int r, int chunk) {
    const int tile = Config::value.has_token_rows() ? 2 * r : r;
    next[r] = {};
    if (S::kRowsMayEnd && tile >= row_tiles) return;
    const int of_k = chunk < chunks ? chunk : chunks - 1;
    const u8* at = of_rows + static_cast<i64>(tile * chunks + of_k) * kBlockBytes;
    if constexpr (kGated) {
      next[r] = ScaleFp32::load_global(at);
    } else {
      next[r].low = next[r].high = float_from_bits(load_global_4(at));
    }
  }

  // Factors of the lane's two tokens of eight: `tokens`, the first of the eight in the tile, is
  // known when this is compiled. `stage`: where the stage has them.
  struct OfTwoTokens {
    float first, second;
  };
  static __device__ __forceinline__ OfTwoTokens tokens(u32 stage, int chunk_of_stage, int tokens,
                                                       int t, int chunk) {
    const int box = chunk_of_stage * S::kBoxes + tokens / S::kBoxTokens;
    const u64 two = load_shared_8(stage + box * Config::value.factor_box_bytes() +
                                  4 * (tokens % S::kBoxTokens) + 8 * t);
    return {factor(static_cast<u32>(two), chunk), factor(static_cast<u32>(two >> 32), chunk)};
  }

  // The factor of one token, in box `box` of the chunk.
  static __device__ __forceinline__ float token(u32 stage, int chunk_of_stage, int box,
                                                int token_of_box, int chunk) {
    const int boxes = chunk_of_stage * S::kBoxes + box;
    return factor(
        load_shared_4(stage + boxes * Config::value.factor_box_bytes() + 4 * token_of_box), chunk);
  }

 private:
  static __device__ __forceinline__ float factor(u32 word, int chunk) {
    if constexpr (Config::value.e8m0_scales) return E8m0::widen(word >> chunk % 4 * 8 & 0xff);
    return float_from_bits(word);
  }
};

}  // namespace heddle
