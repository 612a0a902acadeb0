// A warpgroup's share of a piece: weights decoded into registers are multiplied with the tokens in
// shared memory, both of 16 bits or of eight.
//
// A step is one row tile by kStepTiles tiles of columns: its weights are decoded while the
// tensor cores still work on the steps before, then handed over as one group. Steps
// alternate between kSets sets of registers for decoded weights. A step that ends a group of scales
// leaves its sums to the next one, which takes them up once its own weights are decoded; or, where
// groups alternate between two sets of sums, once its own products are on their way.
//
// A tile with few tokens may be multiplied by a narrower instruction: its columns are the first
// ones of the tile, and its sums the first ones of each row tile.
#pragma once

#include "primitives/sync.cuh"
#include "primitives/wgmma.cuh"
#include "schedule/piece.cuh"
#include "warpgroup/ping_pong.cuh"
#include "warpgroup/products.cuh"
#include "warpgroup/release.cuh"
#include "warpgroup/stage.cuh"
#include "warpgroup/weights.cuh"

namespace heddle {

template <class Config, class Decode>
struct WgmmaMultiply {
  using S = WgmmaShape<Config>;
  using Steps = WgmmaSteps<Config>;
  using Weights = WgmmaWeights<Config, Decode>;
  static constexpr bool kHasGroupSums = Steps::kHasGroupSums;
  static constexpr bool kSharesChunks = S::kOwnChunks < S::kStageChunks;
  static constexpr bool kEndsShort = S::kLastChunks != 0;
  static constexpr int kBoxTiles = 4;  // a tile's columns are 32 bytes of a token, a box's 128
  static constexpr int kChunkBoxes = Config::value.byte_tokens() ? 1 : 2;
  static constexpr bool kMayHaveNone = kSharesChunks && S::kLastChunks == 1;

  WgmmaRelease<Config> release;
  int warpgroup, warp;  // of the warpgroup
  WgmmaPingPong<Config> ping_pong;
  int row_block;    // in the tile, of the warp's first row tile
  int first_chunk;  // that the warpgroup multiplies, of a stage's
  int first_half;   // of those that a stage has of a chunk

  using Sum = typename Config::Sums::Sum;
  using GroupSum = typename Config::Products::Sum;
  static_assert(kHasGroupSums || sizeof(Sum) == sizeof(GroupSum), "products are added to the sums");

  Sum sum[S::kRowTiles][S::kSums];
  GroupSum group_sum[Steps::kGroupSumSets]
                    [kHasGroupSums ? S::kSums : 1];  // of a group, not yet scaled
  Weights weights;
  RowPair scales;  // of rows g and g + 8 in the last group that has ended, with kHasGroupSums only

  __device__ __forceinline__ WgmmaMultiply(WgmmaMemory<Config> memory, int warpgroup, int warp,
                                           int lane)
      : release(memory, lane),
        warpgroup(warpgroup),
        warp(warp),
        ping_pong(warpgroup),
        row_block(S::kSplitsColumns ? warp : 4 * S::kRowTiles * warpgroup + warp),
        first_chunk(kSharesChunks ? warpgroup : 0),
        first_half(S::kSplitsChunks ? warpgroup : 0),
        weights(lane) {}

  // The units of one piece, whose tile has at most kTokens tokens: the sums of others are nothing.
  // `stage` walks on.
  template <int kTokens = S::kTileTokens>
  __device__ __forceinline__ void run(const Piece& piece, const WeightShape& shape,
                                      WgmmaStage<Config>& stage) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (Sum& v : first_values<kTokens / 2>(sum[r])) v = 0;
    clear_group_sums();
    u32 previous = 0;  // the full barrier of the stage before
#pragma unroll 1
    for (int k = piece.begin; k < piece.end; ++k) {
#pragma unroll
      for (int stage_half = 0; stage_half < S::kUnitStages; ++stage_half) {
        mbarrier_wait(stage.full_barrier, stage.parity);
        const int count = S::chunks_of_unit(k, shape);
#pragma unroll
        for (int c = 0; c < S::kOwnChunks; ++c) {
          const int of_stage = first_chunk + c * (S::kStageChunks / S::kOwnChunks);
          if (c > 0 && kEndsShort && of_stage >= count) break;
          // Nothing of the stage is this warpgroup's.
          if (c == 0 && kMayHaveNone && of_stage >= count) {
            wgmma_wait<0>();
            release.run(previous);
            break;
          }
          multiply_chunk<kTokens>(stage, c, of_stage, stage_half, c == 0 ? previous : 0);
        }
        previous = stage.full_barrier;
        stage.advance();
      }
    }
    wgmma_wait<0>();
    retire<kTokens>(Steps::kSteps - 1, Steps::kGroupSumSets - 1);
    release.run(previous);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (Sum& v : first_values<kTokens / 2>(sum[r])) pin(v);
  }

  // The ring's first stage, as this warp reads it.
  __device__ __forceinline__ WgmmaStage<Config> first_stage() const {
    return {release.memory, row_block, first_half};
  }

  // Loads the zero points of channels, where there are any, once for a piece.
  __device__ __forceinline__ void begin(const u8* packed, const WeightShape& shape,
                                        const Piece& piece) {
    weights.load_channel_zeros(packed, shape, piece, row_block);
  }

 private:
  __device__ __forceinline__ void clear_group_sums() {
    if constexpr (kHasGroupSums) {
      // The first step finds nothing in what a step before has left.
#pragma unroll
      for (auto& sums : group_sum)
#pragma unroll
        for (GroupSum& v : sums) v = 0;
      scales = {0.0f, 0.0f};
    }
  }

  // The warpgroup's chunk c of the stage, which is the stage's chunk `of_stage`, or the half
  // `stage_half` of the only one, of each row tile. Behind it the warp has read all of stage
  // `previous`.
  template <int kTokens>
  __device__ __forceinline__ void multiply_chunk(const WgmmaStage<Config>& stage, int c,
                                                 int of_stage, int stage_half, u32 previous) {
    constexpr int kSteps = Steps::kSteps;
    static_assert(kSteps >= Steps::kSets - 1, "a chunk ends the steps of the stage before");
    const u64 columns = same_columns(stage.columns() + kChunkBoxes * of_stage * S::kHalfBytes / 16);
    const u32 chunks = stage.weights() + of_stage * Config::value.weights.chunk_bytes;
    weights.load_first_words(chunks, first_half, stage_half);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int r = step / Steps::kColumnSteps;
      // The step's first tile, of the warpgroup's.
      const int tile = step % Steps::kColumnSteps * Steps::kStepTiles;
      // Where the chunk would begin if it had the words of the other half, too.
      const u32 chunk = chunks + 4 * r * Config::value.row_block_bytes() - S::kMissingBytes;
      const int set = (stage_half * kSteps + step) % Steps::kSets;
      weights.decode(set, r, tile, chunk, first_half + stage_half);
      if (tile % Steps::kHalfTiles == 0) weights.load_next_words(chunks, r, tile);
      const int before = (step + kSteps - 1) % kSteps;
      const int into = (c * kSteps + step) / Steps::kGroupSteps % Steps::kGroupSumSets;
      // ptxas takes no sums across the loop's end that are read while products run: it would let no
      // two steps overlap.
      const bool in_time = Steps::kGroupSumSets == 2 && (c > 0 || step > 0);
      if (kHasGroupSums && Steps::ends_group(before) && !in_time) {
        wgmma_wait<0>();
        retire<kTokens>(before, Steps::kGroupSumSets - 1);
      }
      if (kHasGroupSums && Steps::ends_group(step) && Steps::kGroupSumSets == 1)
        load_scales(chunk, tile);
      if (Config::value.ping_pongs() && Steps::begins_group(tile))
        ping_pong.wait(release.memory, warpgroup);
      issue<kTokens>(set, r, tile, columns, into);
      if (Config::value.ping_pongs() && Steps::ends_group(step)) {
        ping_pong.pass(release.memory, warpgroup, release.is_first_lane);
      }
      // The step that used the next set has ended, and with it one of the stage before.
      wgmma_wait<Steps::kSets - 1>();
      if (kHasGroupSums && Steps::ends_group(before) && in_time) retire<kTokens>(before, 1 - into);
      if (kHasGroupSums && Steps::ends_group(step) && Steps::kGroupSumSets == 2)
        load_scales(chunk, tile);
      if (step == Steps::kSets - 2) release.run(previous);
    }
  }

  __device__ __forceinline__ void load_scales(u32 chunk, int tile) {
    if constexpr (!Steps::kScalesSums) return;
    scales = weights.sum_scales(chunk, Steps::kTileColumns * tile + 64 * first_half);
  }

  // Tells the compiler that all lanes have the same descriptor, where it would not see that or
  // takes fewer instructions for it. Two warpgroups with fewer tokens are slower so.
  static __device__ __forceinline__ u64 same_columns(u64 columns) {
    return Config::value.has_many_tokens() || S::kFour ? wgmma_same_columns(columns) : columns;
  }

  // Registers of weights and sums may be touched again once their products have been waited for.
  template <int kTokens>
  __device__ __forceinline__ void issue(int set, int r, int tile, u64 columns, int into) {
    typename Weights::Set& a = weights.decoded(set);
#pragma unroll
    for (auto& tile_weights : a)
#pragma unroll
      for (u32& v : tile_weights) pin(v);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Steps::kStepTiles; ++i) {
      const int here = tile + i;
      const int box = here / kBoxTiles;
      const u64 at = columns + (box * S::kHalfBytes >> 4) + 2 * (here % kBoxTiles);
      if constexpr (kHasGroupSums) {
        Config::Products::multiply(first_values<kTokens / 2>(group_sum[into]), a[i], at,
                                   !Steps::begins_group(here));
      } else {
        Config::Products::multiply(first_values<kTokens / 2>(sum[r]), a[i], at, true);
      }
    }
    wgmma_commit();
  }

  // The sums of the group that the step has ended, whose products are there.
  template <int kTokens>
  __device__ __forceinline__ void retire(int step, int from) {
    if constexpr (kHasGroupSums) {
      float(&sums)[S::kSums] = sum[step / Steps::kColumnSteps];
#pragma unroll
      for (GroupSum& v : group_sum[from]) pin(v);
#pragma unroll
      for (int i = 0; i < kTokens / 2; ++i) {
        const float of_group = Config::Products::as_float(group_sum[from][i]);
        if constexpr (Steps::kScalesSums) {
          sums[i] += ((i & 2) != 0 ? scales.high : scales.low) * of_group;
        } else {
          sums[i] += of_group;
        }
      }
    }
  }
};

}  // namespace heddle
