// What a warp makes of a chunk of weights in shared memory and of the tokens' fragments of its
// columns: sums of 16 rows.
#pragma once

#include "steps/sums.cuh"
#include "stream/products.cuh"
#include "stream/scales.cuh"
#include "stream/tokens.cuh"

namespace heddle {

// A lane's part of the sums: a fragment for each eight tokens.
template <class Config>
using StreamSum = typename Config::Sums::Sum[StreamShape<Config>::kTokenTiles][4];

template <class Config, class Decode>
struct StreamMultiplier : ChunkLane<Config> {
  using S = StreamShape<Config>;
  using Lane = ChunkLane<Config>;
  using Products = typename Config::Products;
  using Lane::g;
  using Lane::t;
  static constexpr bool kPartial =  // sums of a group are scaled
      Lane::kPartial || Config::value.scaling.mode == ScaleMode::kGroup;
  static constexpr int kTileColumns = Products::kTileColumns;
  static constexpr int kHalfTiles = 64 / kTileColumns;  // whose words a lane loads at once
  // Columns between two looks at scales.
  static constexpr int kUnit =
      Config::value.weights.meta_group < S::kChunkK ? Config::value.weights.meta_group : S::kChunkK;
  // Accumulators that products alternate between, so that none waits for the one before. Small
  // groups do not wait for each other; where instructions set the pace the second would only cost
  // its addition. A group that is one tile has one.
  static constexpr int kAccumulators =
      kPartial && (S::kWidens || kTileColumns == 32) && kUnit <= 32 ? 1 : 2;
  // Chunks of a stage that are unrolled. With scales of 8 bits or of small groups four of them want
  // more registers than there are, of 16 tokens two as well, and so do two that are all of K.
  static constexpr bool kSmallGroups = kPartial && S::kEntries > 1;
  static constexpr bool kTwoOfAll =
      kSmallGroups && kUnit <= 32 && S::kOneStage && Config::value.stage_chunks == 2;
  static constexpr int kUnroll = kTwoOfAll                                  ? 1
                                 : (kPartial && S::kWidens) || kSmallGroups ? 2 / S::kTokenTiles
                                                                            : 4;

  using Parts = typename Products::Sum[S::kTokenTiles][4];

  StreamSum<Config> sum;
  Parts part[kAccumulators];  // of the group, before its scale; without groups of the stage
  RowTileDecoder<Config, Decode, 1> decoder;
  StreamScales<Config> wide_scales;  // of half a chunk; S::kWidens only

  __device__ __forceinline__ explicit StreamMultiplier(int lane) : Lane(lane) {}
  __device__ __forceinline__ StreamMultiplier()
      : StreamMultiplier(static_cast<int>(threadIdx.x) % 32) {}

  // `load(half, b)` gives the tokens' fragments of 64 columns; `wide`: the chunk's scales,
  // S::kWidens only.
  template <class Load>
  __device__ __forceinline__ void multiply_chunk(u32 chunk, u32 wide, const Load& load) {
    constexpr int kTiles = Decode::kTiles;
    typename Lane::Words words;                  // of 64 columns
    typename StreamTokens<Config>::Fragments b;  // the same
#pragma unroll
    for (int first = 0; first < 2 * kHalfTiles; first += kTiles) {
      if (first % kHalfTiles == 0) {
        const int half = first / kHalfTiles;
        Lane::load_words(chunk, half, words);
        if constexpr (S::kWidens) wide_scales.load(wide, half, g);
        load(half, b);
      }
      u32 a[kTiles][4];
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int tile = first + i;
        const int column = kTileColumns * tile;
        const bool begins = Config::value.weights.begins_unit(column, kUnit, S::kChunkK);
        if (begins) begin_unit(chunk, column);
        decoder.decode(0, words, first % kHalfTiles / kTiles, i, begins, a);
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          const u32(&pair)[4] = b[j][tile % kHalfTiles / 2];
          Products::multiply(part[tile % kAccumulators][j], a[i], pair[tile % 2 * 2],
                             pair[tile % 2 * 2 + 1]);
        }
        const bool ends =
            Config::value.weights.begins_unit(column + kTileColumns, kUnit, S::kChunkK);
        if (ends) end_unit(chunk, column);
      }
    }
  }

  template <class Sum>
  static __device__ __forceinline__ void clear(Sum (&sums)[S::kTokenTiles][4]) {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile)
#pragma unroll
      for (Sum& v : sums[tile]) v = 0;
  }
  __device__ __forceinline__ void clear_parts() {
#pragma unroll
    for (auto& sums : part) clear(sums);
  }
  __device__ __forceinline__ void add_parts(RowPair scales) {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      typename Products::Sum all[4];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        all[v] = kAccumulators == 1 ? part[0][tile][v]
                                    : part[0][tile][v] + part[kAccumulators - 1][tile][v];
      }
      Products::add(scales, all, sum[tile]);
    }
  }

 private:
  __device__ __forceinline__ void begin_unit(u32 chunk, int column) {
    u32 scales = 0;
    if constexpr (S::kWidens && Lane::kWeight) {
      scales = wide_scales.of_weights(column);
    } else {
      scales = Lane::weight_scales(chunk, column);
    }
    decoder.begin_group(0, Lane::int_zeros(chunk, column), scales);
    if constexpr (kPartial) clear_parts();
  }
  __device__ __forceinline__ void end_unit(u32 chunk, int column) {
    if constexpr (!kPartial) return;
    if constexpr (S::kWidens) {
      add_parts(wide_scales.of_sums(column));
    } else {
      add_parts(Lane::sum_scales(chunk, column));
    }
  }
};

}  // namespace heddle
