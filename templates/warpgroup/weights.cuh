// What a lane has of the weights of a warpgroup's row tiles: words, which it reads from shared
// memory, and what they decode to, in the registers that wgmma takes them from.
#pragma once

#include "schedule/piece.cuh"
#include "steps/chunk.cuh"
#include "warpgroup/steps.cuh"

namespace heddle {

template <class Config, class Decode>
struct WgmmaWeights : ChunkLane<Config> {
  using Lane = ChunkLane<Config>;
  using S = WgmmaShape<Config>;
  using Steps = WgmmaSteps<Config>;
  static constexpr bool kChannel = Config::value.scaling.mode == ScaleMode::kChannel;
  static constexpr bool kIntZeros = Config::value.weights.zero_point == ZeroPoint::kInt;
  using Set = u32[Steps::kStepTiles][4];  // what a step multiplies

  __device__ __forceinline__ explicit WgmmaWeights(int lane) : Lane(lane) {}

  // Integer zero points per channel, once for a piece. `row_block`: in the tile, of the warp's
  // first row tile.
  __device__ __forceinline__ void load_channel_zeros(const u8* metadata, const Piece& piece,
                                                     int row_block) {
    if constexpr (kIntZeros && kChannel) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        const int row_tile = piece.row_tile + row_block / 4 + r;
        const u8* zeros = Lane::channel_zeros(metadata, 4 * row_tile + row_block % 4);
        Decode::group(Lane::channel_int_zeros(zeros), group_[r]);
      }
    }
  }

  // A lane's words of 64 columns are loaded while those before them are decoded; a chunk has one or
  // two of these halves for each row tile. Here the first of half `first_half` of what the stage
  // has of the chunk, which begins with half `part` of it.
  __device__ __forceinline__ void load_first_words(u32 chunks, int first_half, int part) {
    load_half(chunks, first_half, part, 0);
  }
  // Those behind the ones that row tile r is decoded from at tile `tile`.
  __device__ __forceinline__ void load_next_words(u32 chunks, int r, int tile) {
    const int next = Steps::kHalves * r + tile / 4 + 1;
    if (next == Steps::kHalves * S::kRowTiles) return;
    load_half(chunks + next / Steps::kHalves * 4 * S::kRowBlockBytes, next % Steps::kHalves, 0,
              next % 2);
  }

  // Into set `set`: the weights of a step of row tile r, from the tile on, which is counted from
  // the half of the chunk.
  __device__ __forceinline__ void decode(int set, int r, int tile, u32 chunk, int from_half) {
    constexpr int kUnitTiles = Decode::kTiles;
    u32 unit[kUnitTiles][4];
#pragma unroll
    for (int i = 0; i < Steps::kStepTiles; ++i) {
      const int here = tile + i;
      const bool begins = here % Steps::kGroupTiles == 0;
      if (begins) begin_group(chunk, 16 * here + 64 * from_half, to_pass_[place_of(r, here)]);
      // Another group has other zero points or scales: what follows is decoded with them.
      if (i == 0 || begins || here % kUnitTiles == 0) {
        Decode::unit(words_[place_of(r, here)], here % 4 / kUnitTiles, group_[kChannel ? r : 0],
                     unit);
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) sets_[set][i][v] = unit[here % kUnitTiles][v];
      if constexpr (Config::value.scaling.mode == ScaleMode::kWeight && !Decode::kScales) {
        Lane::scale_weights(scales_, sets_[set][i]);
      }
    }
  }

  __device__ __forceinline__ Set& decoded(int set) { return sets_[set]; }

 private:
  // Of the words of a row tile's columns.
  static __device__ __forceinline__ int place_of(int r, int tile) {
    return (Steps::kHalves * r + tile / 4) % 2;
  }

  __device__ __forceinline__ void load_half(u32 chunk, int half, int part, int place) {
    Lane::load_words(chunk, half, words_[place]);
    if constexpr (Lane::kPassesScales) {
      to_pass_[place] = Lane::scales_to_pass(chunk - S::kMissingBytes, half + part);
    }
  }

  // `column`: in the chunk. `passed`: of its 64 columns.
  __device__ __forceinline__ void begin_group(u32 chunk, int column, u32 passed) {
    if constexpr (kIntZeros && !kChannel) Decode::group(Lane::int_zeros(chunk, column), group_[0]);
    if constexpr (Config::value.scaling.mode == ScaleMode::kWeight) {
      scales_ = Lane::weight_scales(chunk, column, passed);
    }
    if constexpr (Decode::kScales) Decode::group(scales_, group_[0]);
  }

  u32 words_[2][Config::value.weights.bits];  // of 64 columns
  Set sets_[Steps::kSets];
  u32 group_[kChannel ? S::kRowTiles : 1][Decode::kGroupRegisters];
  u32 scales_;      // of rows g and g + 8, with ScaleMode::kWeight only
  u32 to_pass_[2];  // of the columns of words, with kPassesScales only
};

}  // namespace heddle
