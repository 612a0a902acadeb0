// What a lane has of the weights of a warpgroup's row tiles: words, which it reads from shared
// memory, and what they decode to, in the registers that wgmma takes them from.
#pragma once

#include "schedule/piece.cuh"
#include "steps/decode_scale.cuh"
#include "warpgroup/steps.cuh"

namespace heddle {

template <class Config, class Decode>
struct WgmmaWeights : ChunkLane<Config> {
  using Lane = ChunkLane<Config>;
  using S = WgmmaShape<Config>;
  using Steps = WgmmaSteps<Config>;
  using Lane::kChannel;
  using Set = u32[Steps::kStepTiles][4];  // what a step multiplies

  __device__ __forceinline__ explicit WgmmaWeights(int lane) : Lane(lane) {}

  // Integer zero points per channel of the packed weights, once for a piece. `row_block`: in the
  // tile, of the warp's first row tile.
  __device__ __forceinline__ void load_channel_zeros(const u8* packed, const WeightShape& shape,
                                                     const Piece& piece, int row_block) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const int block = 4 * (piece.row_tile + row_block / 4 + r) + row_block % 4;
      decoder_.load_channel_zeros(
          r, *this, Lane::channel_zeros(packed + shape.channel_offset, block, shape.row_blocks));
    }
  }

  // A lane's words of 64 columns are loaded while those before them are decoded; a chunk has one or
  // two of these halves for each row tile. Here the first of half `first_half` of what the stage
  // has of the chunk, which begins with half `stage_half` of it.
  __device__ __forceinline__ void load_first_words(u32 chunks, int first_half, int stage_half) {
    load_half(chunks, first_half, stage_half, 0);
  }
  // Loads the words behind those that row tile r is decoded from at tile `tile`.
  __device__ __forceinline__ void load_next_words(u32 chunks, int r, int tile) {
    const int next = Steps::kHalves * r + tile / Steps::kHalfTiles + 1;
    if (next == Steps::kHalves * S::kRowTiles) return;
    load_half(chunks + next / Steps::kHalves * 4 * Config::value.row_block_bytes(),
              next % Steps::kHalves, 0, next % 2);
  }

  // Decodes into set `set` the weights of a step of row tile r, from the tile on, which is counted
  // from the half of the chunk.
  __device__ __forceinline__ void decode(int set, int r, int tile, u32 chunk, int from_half) {
    constexpr int kUnitTiles = Decode::kTiles;
    const int held = kChannel ? r : 0;
    u32 unit[kUnitTiles][4];
#pragma unroll
    for (int i = 0; i < Steps::kStepTiles; ++i) {
      const int here = tile + i;
      const int place = place_of(r, here);
      const bool begins = Steps::begins_group(here);
      if (begins) {
        const int column = Steps::kTileColumns * here + 64 * from_half;
        decoder_.begin_group(held, Lane::int_zeros(chunk, column),
                             Lane::weight_scales(chunk, column, to_pass_[place]));
      }
      // A step may begin inside of a unit.
      decoder_.decode(held, words_[place], here % Steps::kHalfTiles / kUnitTiles, here % kUnitTiles,
                      i == 0 || begins, unit);
#pragma unroll
      for (int v = 0; v < 4; ++v) sets_[set][i][v] = unit[here % kUnitTiles][v];
    }
  }

  __device__ __forceinline__ Set& decoded(int set) { return sets_[set]; }

 private:
  // Which of words_ holds the words of tile `tile` of row tile r.
  static __device__ __forceinline__ int place_of(int r, int tile) {
    return (Steps::kHalves * r + tile / Steps::kHalfTiles) % 2;
  }

  __device__ __forceinline__ void load_half(u32 chunk, int half, int stage_half, int place) {
    Lane::load_words(chunk, half, words_[place]);
    if constexpr (Lane::kPassesScales) {
      to_pass_[place] = Lane::scales_to_pass(chunk - S::kMissingBytes, half + stage_half);
    }
  }

  typename Lane::Words words_[2];  // of 64 columns
  Set sets_[Steps::kSets];
  RowTileDecoder<Config, Decode, kChannel ? S::kRowTiles : 1> decoder_;
  u32 to_pass_[2];  // of the columns of words, with kPassesScales only
};

}  // namespace heddle
