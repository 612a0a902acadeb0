// One warp: its chunks of a row block, decoded and multiplied by the token.
#pragma once

#include "gemv/stage.cuh"
#include "gemv/words.cuh"
#include "primitives/mma.cuh"
#include "primitives/sync.cuh"
#include "steps/decode_scale.cuh"

namespace heddle {

template <class Config, class Decode>
struct GemvWarp : ChunkLane<Config> {
  using Lane = ChunkLane<Config>;
  using Value = typename Config::Value;
  using Lane::kFloatZeros;
  using Lane::kPartial;
  // Columns between two looks at scales.
  static constexpr int kUnit = Config::value.weights.meta_group < Chunk::kColumns
                                   ? Config::value.weights.meta_group
                                   : Chunk::kColumns;
  // Accumulators that products alternate between, so that none waits for the one before.
  static constexpr int kAccumulators = kPartial && kUnit == 16 ? 1 : 2;
  static constexpr int kAhead = Config::value.ahead;
  static_assert(!kFloatZeros || !Lane::kWeight, "float zero points meet the sums only");

  const u8* weights;  // the warp's first chunk
  int chunks;         // of the warp
  u32 tokens;         // X of its columns, in shared memory
  u32 meta;           // scales and zero points of its chunks, in shared memory
  int lane;

  GemvWords<Config> words[kAhead];
  // All eight columns of the matrix instruction have the token, so that every lane has the sums of
  // rows g and g + 8.
  RowPair sum = {0.0f, 0.0f};
  float part[kAccumulators][4];  // of the group, before its scale; without groups of all columns
  float token_sum[4];            // of the same columns of X; with float zero points only
  RowTileDecoder<Config, Decode, 1> decoder;

  __device__ __forceinline__ GemvWarp(const u8* weights, int chunks, u32 tokens, u32 meta, int lane)
      : Lane(lane), weights(weights), chunks(chunks), tokens(tokens), meta(meta), lane(lane) {}

  // The first weights on their way.
  __device__ __forceinline__ void request() {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i < chunks) load(words[i], i);
    }
  }

  // Scales and zero points of the row block's channels lie at `channel`, in global memory.
  __device__ __forceinline__ void multiply(const u8* channel) {
    const u8* const zeros = channel + Config::value.weights.channel_zero_offset;
    decoder.load_channel_zeros(0, *this, zeros);
    clear_parts();
#pragma unroll 1
    for (int first = 0; first < chunks; first += kAhead) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int c = first + i;
        if (c >= chunks) break;
        multiply_chunk(words[i], c);
        if (c + kAhead < chunks) load(words[i], c + kAhead);
      }
    }
    if constexpr (!kPartial) {
      if constexpr (kFloatZeros) {
        subtract_zeros(Lane::channel_float_zeros(zeros));
      }
      add_parts({1.0f, 1.0f});
    }
  }

 private:
  __device__ __forceinline__ void load(GemvWords<Config>& into, int c) const {
    into.load(weights + c * Config::value.weights.chunk_bytes, lane);
  }

  // Chunk `c` of the warp's.
  __device__ __forceinline__ void multiply_chunk(const GemvWords<Config>& packed, int c) {
    constexpr int kTiles = Decode::kTiles;
    // Where the chunk would begin in shared memory if its weights lay before its metadata.
    const u32 chunk = meta + c * Config::value.meta_bytes() - Config::value.weights.scale_offset;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      u32 b[2][4];
      load_tokens(c, half, b);
      u32 to_pass = 0;
      if constexpr (Lane::kPassesScales) to_pass = Lane::scales_to_pass(chunk, half);
#pragma unroll
      for (int first = 0; first < 4; first += kTiles) {
        u32 a[kTiles][4];
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          const int tile = first + i;
          const int column = 64 * half + 16 * tile;
          const bool begins = Config::value.weights.begins_unit(column, kUnit, Chunk::kColumns);
          if (begins) begin_unit(chunk, column, to_pass);
          decoder.decode(0, packed.halves[half], first / kTiles, i, begins, a);
          multiply_tile(tile, a[i], b[tile / 2][tile % 2 * 2], b[tile / 2][tile % 2 * 2 + 1]);
          if (Config::value.weights.ends_unit(column, kUnit, Chunk::kColumns)) {
            end_unit(chunk, column);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_tile(int tile, const u32 (&a)[4], u32 b0, u32 b1) {
    if constexpr (kFloatZeros) {
      constexpr u32 kOnes[4] = {Value::kOnes, Value::kOnes, Value::kOnes, Value::kOnes};
      Config::Mma::mma16816(Value{}, token_sum, kOnes, b0, b1);
    }
    Config::Mma::mma16816(Value{}, part[tile % kAccumulators], a, b0, b1);
  }

  // X of 64 columns as B fragments. All rows of the four matrices of an ldmatrix are the token's.
  __device__ __forceinline__ void load_tokens(int c, int half, u32 (&b)[2][4]) const {
    const u32 at = tokens + c * GemvConfig::kChunkTokenBytes + 128 * half + lane / 8 * 16;
    ldmatrix_x4(b[0], at);
    ldmatrix_x4(b[1], at + 64);
  }

  __device__ __forceinline__ void begin_unit(u32 chunk, int column, u32 to_pass) {
    decoder.begin_group(0, Lane::int_zeros(chunk, column),
                        Lane::weight_scales(chunk, column, to_pass));
    if constexpr (kPartial) clear_parts();
  }
  __device__ __forceinline__ void end_unit(u32 chunk, int column) {
    if constexpr (!kPartial) return;
    if constexpr (kFloatZeros) subtract_zeros(Lane::float_zeros(chunk, column));
    add_parts(Lane::sum_scales(chunk, column));
  }

  // Subtracts from the sums of the group what the zero points of rows g and g + 8 add to each
  // weight.
  __device__ __forceinline__ void subtract_zeros(RowPair zeros) {
    part[0][0] -= zero_term<Config>(zeros.low, token_sum[0]);
    part[0][2] -= zero_term<Config>(zeros.high, token_sum[2]);
  }

  __device__ __forceinline__ void clear_parts() {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int a = 0; a < kAccumulators; ++a) part[a][i] = 0.0f;
      token_sum[i] = 0.0f;
    }
  }
  // Values 0 and 2 of a lane are of rows g and g + 8.
  __device__ __forceinline__ void add_parts(RowPair scale) {
    sum.low +=
        scale.low * (kAccumulators == 1 ? part[0][0] : part[0][0] + part[kAccumulators - 1][0]);
    sum.high +=
        scale.high * (kAccumulators == 1 ? part[0][2] : part[0][2] + part[kAccumulators - 1][2]);
  }
};

}  // namespace heddle
