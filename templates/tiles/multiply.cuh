// One warp's share of all stages: decode weights into A fragments and multiply.
#pragma once

#include "primitives/mma.cuh"
#include "steps/decode_scale.cuh"
#include "tiles/shape.cuh"

namespace heddle {

template <class Config, class Decode>
struct WarpTile : ChunkLane<Config> {
  using Lane = ChunkLane<Config>;
  using Lane::g;
  using Lane::kChannel;
  using Lane::kFloatZeros;
  using Lane::kPartial;
  using Lane::t;
  using S = Shape<Config>;
  using Value = typename Config::Value;
  static constexpr int kTokenSums = kFloatZeros ? (kChannel ? 1 : Decode::kTiles) : 0;

  float sum[S::kRowTiles][S::kTokenTiles][4];
  // Only with kPartial: the sums of the current group, before its scale.
  float part[kPartial ? S::kRowTiles : 1][kPartial ? S::kTokenTiles : 1][4];
  // Only with float zero points: [i] is the sum of each token over the columns of this unit up to
  // those of tile i that is decoded together with others; per channel, over all columns. The matrix
  // instruction sums them, with ones as its weights: values 0 and 1 are of the lane's two tokens.
  float token_sum[kTokenSums > 0 ? kTokenSums : 1][kTokenSums > 0 ? S::kTokenTiles : 1][4];
  RowTileDecoder<Config, Decode, S::kRowTiles> decoder;

  int row_block;   // of the warp's first row tile, in the stage
  int token_row;   // the warp's first token, in the stage
  int run_offset;  // the warp's first column, in the stage

  __device__ __forceinline__ WarpTile(int lane, int warp_m, int warp_n, int warp_k)
      : Lane(lane),
        row_block(warp_n * S::kRowTiles),
        token_row(warp_m * S::kTokenTiles * 8),
        run_offset(warp_k * S::kRun) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[r][j][i] = 0.0f;
    if constexpr (kFloatZeros) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) token_sum[kTokenSums - 1][j][i] = 0.0f;
    }
  }

  // Integer zero points per channel, once per kernel. `metadata` is that of row block 0.
  __device__ __forceinline__ void load_channel_zeros(const u8* metadata, int first_row_block) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const int block = first_row_block + row_block + r;
      decoder.load_channel_zeros(
          r, *this, Lane::channel_zeros(metadata, block, Config::value.shape.row_blocks));
    }
  }

  // Float zero points per channel, once all columns have been summed.
  __device__ __forceinline__ void subtract_channel_zeros(const u8* metadata, int first_row_block) {
    if constexpr (kFloatZeros && kChannel) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        const u8* zeros = Lane::channel_zeros(metadata, first_row_block + row_block + r,
                                              Config::value.shape.row_blocks);
        subtract_zeros(Lane::channel_float_zeros(zeros), 0, sum[r]);
      }
    }
  }

  // The block's stages, from `pipeline` (pipeline.cuh).
  template <class Pipeline>
  __device__ __forceinline__ void run(Pipeline& pipeline) {
#pragma unroll 1
    for (int stage = pipeline.begin; stage < pipeline.end; ++stage) {
      multiply(pipeline.acquire(stage));
      pipeline.release(stage);
    }
  }

 protected:
  // Columns between two looks at scales, but whole loads of weights: a lane loads those of 64
  // columns at once.
  static constexpr int kStep = S::kUnit < 64 ? 64 : S::kUnit;

  // All columns of this warp in the stage at shared address `stage`.
  __device__ __forceinline__ void multiply(u32 stage) {
#pragma unroll 1
    for (int k = 0; k < S::kRun; k += kStep) {
#pragma unroll
      for (int in_step = 0; in_step < kStep; in_step += 64) {
        multiply_64(stage, run_offset + k + in_step, in_step);
      }
    }
  }

  // 64 columns from `column` of the stage, `in_step` columns behind where its step begins. Decode
  // takes kTiles k tiles at a time; where that is one, the tokens of the next 16 columns are
  // loaded while this tile's are multiplied.
  __device__ __forceinline__ void multiply_64(u32 stage, int column, int in_step) {
    constexpr int kTiles = Decode::kTiles;
    constexpr bool kAhead = kTiles == 1;
    typename Lane::Words packed[S::kRowTiles];
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      Lane::load_words(chunk(stage, r, column), column / 64 & 1, packed[r]);
    }
    u32 tokens[kAhead ? 2 : kTiles][S::kTokenTiles][2];
    if (kAhead) load_tokens(stage, column, 0, tokens[0]);
#pragma unroll
    for (int first = 0; first < 4; first += kTiles) {
      if (kAhead) {
        if (first < 3) load_tokens(stage, column, first + 1, tokens[(first + 1) % 2]);
      } else {
#pragma unroll
        for (int i = 0; i < kTiles; ++i) load_tokens(stage, column, first + i, tokens[i]);
      }
      if constexpr (kFloatZeros) {
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          sum_tokens(i, in_step + 16 * (first + i), tokens[kAhead ? first % 2 : i]);
        }
      }
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        u32 a[kTiles][4];
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          const int here = in_step + 16 * (first + i);
          const bool begins = Config::value.weights.begins_unit(here, S::kUnit, kStep);
          if (begins) begin_unit(r, stage, column + 16 * (first + i));
          decoder.decode(r, packed[r], first / kTiles, i, begins, a);
#pragma unroll
          for (int j = 0; j < S::kTokenTiles; ++j) {
            const u32(&b)[2] = tokens[kAhead ? first % 2 : i][j];
            Config::Mma::mma16816(Value{},
                                  kPartial ? part[kPartial ? r : 0][kPartial ? j : 0] : sum[r][j],
                                  a[i], b[0], b[1]);
          }
          if (kPartial && Config::value.weights.ends_unit(here, S::kUnit, kStep)) {
            end_unit(r, i, stage, column + 16 * (first + i));
          }
        }
      }
    }
  }

  // Adds 16 columns to the tokens' sums; `here` is where in the step they begin.
  __device__ __forceinline__ void sum_tokens(int i, int here,
                                             const u32 (&tokens)[S::kTokenTiles][2]) {
    const int slot = kChannel ? 0 : i;
    const int before = kChannel || i == 0 ? kTokenSums - 1 : i - 1;
    const bool begins = !kChannel && Config::value.weights.begins_unit(here, S::kUnit, kStep);
    const u32 ones[4] = {Value::kOnes, Value::kOnes, Value::kOnes, Value::kOnes};
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        token_sum[slot][j][v] = begins ? 0.0f : token_sum[before][j][v];
      }
      Config::Mma::mma16816(Value{}, token_sum[slot][j], ones, tokens[j][0], tokens[j][1]);
    }
  }

  // Subtracts from the sums of a row tile what the zero points of its rows add to each weight.
  __device__ __forceinline__ void subtract_zeros(RowPair zeros, int slot,
                                                 float (&sums)[S::kTokenTiles][4]) const {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const float zero = v < 2 ? zeros.low : zeros.high;
        sums[j][v] -= zero_term<Config>(zero, token_sum[slot][j][v % 2]);
      }
    }
  }

  // Shared address of the chunk of row tile r that holds the stage's column.
  __device__ __forceinline__ u32 chunk(u32 stage, int r, int column) const {
    return stage + (row_block + r) * S::kRowBlockBytes +
           column / S::kChunkK * Config::value.weights.chunk_bytes;
  }
  __device__ __forceinline__ void begin_unit(int r, u32 stage, int column) {
    decoder.begin_group(r, Lane::int_zeros(chunk(stage, r, column), column % S::kChunkK),
                        Lane::weight_scales(chunk(stage, r, column), column % S::kChunkK));
    if constexpr (kPartial) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) part[r][j][i] = 0.0f;
    }
  }

  // `slot`: of token_sum.
  __device__ __forceinline__ void end_unit(int r, int slot, u32 stage, int column) {
    const u32 from = chunk(stage, r, column);
    const RowPair scales = Lane::sum_scales(from, column % S::kChunkK);
    if constexpr (kFloatZeros && kPartial) {
      subtract_zeros(Lane::float_zeros(from, column % S::kChunkK), slot, part[r]);
    }
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) add_scaled(scales, part[r][j], sum[r][j]);
  }

  // B fragments of 16 columns from `column` + 16 * `tile` on, where `column` is a multiple of 64.
  __device__ __forceinline__ void load_tokens(u32 stage, int column, int tile,
                                              u32 (&tokens)[S::kTokenTiles][2]) const {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; j += 2) load_two_tiles(stage, column, tile, j, tokens);
  }

  // Loads tokens 8 * j to 8 * j + 15, or eight if there are no more, by one ldmatrix; each column
  // times its factor, if there are any. Tiles begin at multiples of eight tokens, so that
  // all of a lane's rows are swizzled alike.
  __device__ __forceinline__ void load_two_tiles(u32 stage, int column, int tile, int j,
                                                 u32 (&tokens)[S::kTokenTiles][2]) const {
    const u32 lane = 4 * g + t;
    const u32 unit = 2 * tile ^ (lane & 7) ^ (lane / 8 & 1);
    const u32 at = stage + S::kWeightBytes + 2 * column + 16 * unit +
                   (token_row + 8 * j + lane / 16 * 8 + (lane & 7)) * S::kTokenBytes;
    const bool alone = j + 1 == S::kTokenTiles;
    if (alone) {
      ldmatrix_x2(tokens[j], at);
    } else {
      u32 pair[4];
      ldmatrix_x4(pair, at);
#pragma unroll
      for (int i = 0; i < 4; ++i) tokens[j + i / 2][i % 2] = pair[i];
    }
    if constexpr (Config::value.pre_scale) {
      const u32 factors = stage + S::kPreScaleOffset + 2 * (column + 16 * tile) + 4 * t;
      const u32 near = load_shared_4(factors);
      const u32 far = load_shared_4(factors + 16);
#pragma unroll
      for (int i = j; i < (alone ? j + 1 : j + 2); ++i) {
        tokens[i][0] = Value::mul2(tokens[i][0], near);
        tokens[i][1] = Value::mul2(tokens[i][1], far);
      }
    }
  }
};

}  // namespace heddle
