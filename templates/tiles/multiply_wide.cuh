// One warp's share of all stages, for tiles of many tokens: each warp has few rows and all of the
// tile's tokens, so that decoding is little beside what is multiplied.
//
// Steps of 16 columns, four to a block of 64. While a step is multiplied, the next one's tokens,
// weights and scales are loaded and decoded, across the end of a stage, too: the warps meet behind
// the last load from a stage, not behind its last product.
#pragma once

#include "tiles/multiply.cuh"
#include "tiles/wide_pipeline.cuh"

namespace heddle {

template <class Config, class Decode>
struct WideTile : WarpTile<Config, Decode> {
  using Base = WarpTile<Config, Decode>;
  using Lane = ChunkLane<Config>;
  using S = Shape<Config>;
  using Value = typename Config::Value;
  static constexpr int kSteps = 4;
  static constexpr int kColumnBlocks = S::kRun / 64;  // of a stage

  // Words of 16 bits are the A operands of the step that is multiplied next.
  static constexpr bool kPlain = Config::value.weights.bits == 16;
  static constexpr int kWords = kPlain ? 4 : Config::value.weights.bits;

  u32 words[S::kRowTiles][kWords];  // of 64 columns, or of a step
  u32 tokens[S::kTokenTiles][2];    // of a step
  u32 a[4];                         // decoded weights of a row tile

  static_assert(Decode::kTiles == 1 && S::kUnit <= 64, "a step is a unit of decoding");
  static_assert(!Base::kPartial, "no registers for two sums");
  static_assert(!Base::kFloatZeros, "no registers for the tokens' sums");

  using Base::Base;

  template <class Pipeline>
  __device__ __forceinline__ void run(Pipeline& pipeline) {
    Base::load_tokens(pipeline.here, this->run_offset, 0, tokens);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) load_weights(r, pipeline.here, this->run_offset, 0);
    decode(0, 0, a);
    int column = this->run_offset;
#pragma unroll 1
    do {
#pragma unroll
      for (int step = 0; step < kSteps - 1; ++step) {
        multiply_step(step, pipeline.here, column, step + 1);
        if (step < kParts) start_copies(pipeline, step);
      }
      column += 64;
      if (kColumnBlocks == 1 || column == this->run_offset + S::kRun) {
        column = this->run_offset;
        // What is read after the last stage is not multiplied.
        pipeline.advance();
      }
      multiply_step(kSteps - 1, pipeline.here, column, 0);
    } while (pipeline.has_more());
  }

 private:
  // While a row tile is multiplied, the next one is decoded; while the last one is, the first one
  // of step `next` of the 64 columns at `column` of the stage.
  __device__ __forceinline__ void multiply_step(int step, u32 stage, int column, int next) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const bool last = r == S::kRowTiles - 1;
      u32 ahead[4];
      load_weights(r, stage, column, next);
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        Config::Mma::mma16816(Value{}, this->sum[r][j], a, tokens[j][0], tokens[j][1]);
        if (j == 0) decode(last ? 0 : r + 1, last ? next : step, ahead);
        if (last && (j % 2 == 1 || j + 1 == S::kTokenTiles)) {
          Base::load_two_tiles(stage, column, next, j & ~1, tokens);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = ahead[i];
    }
  }

  __device__ __forceinline__ void decode(int r, int step, u32 (&to)[4]) const {
    u32 unit[1][4];
    if constexpr (!kPlain) this->decoder.decode(r, words[r], step, 0, true, unit);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = kPlain ? words[r][i] : unit[0][i];
  }

  // What a row tile needs from `step` on that it did not need before.
  __device__ __forceinline__ void load_weights(int r, u32 stage, int column, int step) {
    if constexpr (kPlain) {
      typename Lane::Words place;
      u32 unit[1][4];
      Lane::load_words(Base::chunk(stage, r, column), column / 64 & 1, place);
      this->decoder.decode(r, place, step, 0, true, unit);
#pragma unroll
      for (int i = 0; i < 4; ++i) words[r][i] = unit[0][i];
    } else if (step == 0) {
      Lane::load_words(Base::chunk(stage, r, column), column / 64 & 1, words[r]);
    }
    if (Config::value.weights.begins_unit(16 * step, S::kUnit, 64)) {
      Base::begin_unit(r, stage, column + 16 * step);
    }
  }

  // The first steps of 64 columns start their part of the copies of a later stage: all of them at
  // once would be in the way of other instructions, more steps need registers for longer.
  static constexpr int kParts = 2;
  template <class Pipeline>
  static __device__ __forceinline__ void start_copies(Pipeline& pipeline, int step) {
    constexpr int kCopies = Pipeline::Copy::kCopies;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (i * kParts / kCopies == step) pipeline.start_copy(i);
    }
    if (step == kParts - 1) pipeline.end_copies();
  }
};

}  // namespace heddle
