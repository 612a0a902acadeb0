// One warp's share of a stage that bulk copies have filled: all of its row blocks, one after the
// other, with tokens that it loads once for all of them.
#pragma once

#include "primitives/mma.cuh"
#include "steps/decode_scale.cuh"
#include "tiles/bulk_shape.cuh"

namespace heddle {

template <class Config, class Decode>
struct BulkTile : ChunkLane<Config> {
  using Lane = ChunkLane<Config>;
  using Lane::g;
  using Lane::kChannel;
  using Lane::kPartial;
  using Lane::t;
  using S = Shape<Config>;
  using Memory = BulkMemory<Config>;
  using Slots = BulkSlots<Config>;
  using Value = typename Config::Value;
  static constexpr bool kManySums = Config::value.has_many_sums();
  static constexpr bool kManyTokens = Config::value.has_many_tokens();
  // With scales on the sums and many tokens, registers hold the tokens of 32 columns at a time:
  // every row tile loads them again.
  static constexpr bool kLoadsPairs = kManyTokens && kPartial;
  // Otherwise the tokens of kStep columns are in registers.
  static constexpr int kStep = Config::value.bulk_step();
  static constexpr int kHalves = kStep / 64;
  static constexpr int kUnit = Config::value.bulk_unit();
  // Row tiles that are multiplied at once, so that one matrix instruction need not wait for the one
  // before.
  static constexpr int kMostRows = kManySums || kManyTokens ? 1 : S::kTokenTiles == 1 ? 4 : 2;
  static constexpr int kRowsAtOnce = S::kRowTiles < kMostRows ? S::kRowTiles : kMostRows;
  static constexpr int kRowGroups = (S::kRowTiles + kRowsAtOnce - 1) / kRowsAtOnce;

  float sum[S::kRowTiles][S::kTokenTiles][4];
  int row_block;      // of the warp's first row tile, in the tile
  int token_row = 0;  // the warp's first token
  int first_column;   // in the stage

  __device__ __forceinline__ BulkTile(int lane, int warp_n, int warp_k)
      : Lane(lane), row_block(warp_n * S::kRowTiles), first_column(warp_k * S::kRun) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) clear(sum[r]);
  }

  // Integer zero points per channel, once. `metadata` is that of row block 0.
  __device__ __forceinline__ void load_channel_zeros(const u8* metadata, int first_row_block) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const int block = first_row_block + row_block + r;
      decoder_.load_channel_zeros(
          r, *this, Lane::channel_zeros(metadata, block, Config::value.shape.row_blocks));
    }
  }

  // Multiplies the warp's columns of the stage, which has `chunks` chunks.
  __device__ __forceinline__ void multiply(u32 tokens, const Slots& weights, int chunks) {
#pragma unroll 1
    for (int k = 0; k < S::kRun; k += kStep) {
      const int column = first_column + k;
      if (S::kLastChunks != 0 && column >= chunks * S::kChunkK) break;
      multiply_step(
          tokens + column / 64 * Memory::kHalfBytes,
          weights.behind(row_block, column / S::kChunkK * Config::value.weights.chunk_bytes),
          column / 64 % 2);
    }
  }

 private:
  using Tokens = u32[kHalves][S::kTokenTiles][2][4];
  using Part = float[S::kTokenTiles][4];
  // Packed words of 64 columns.
  struct Words {
    typename Lane::Words of_row[kRowsAtOnce];
    u32 to_pass[kRowsAtOnce];  // ChunkLane::scales_to_pass()
  };

  static __device__ __forceinline__ void clear(Part& sums) {
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
      for (float& v : sums[j]) v = 0.0f;
  }

  // kStep columns from half `first_half` of a chunk on. `chunk`: of each row tile. Words of 64
  // columns of some row tiles are loaded while those before them are multiplied.
  __device__ __forceinline__ void multiply_step(u32 tokens, const Slots& chunk, int first_half) {
    Tokens b;
    if constexpr (!kLoadsPairs) load_tokens(tokens, b);
    Words words[2];
    load_words(chunk, 0, first_half, words[0]);
#pragma unroll
    for (int i = 0; i < kHalves * kRowGroups; ++i) {
      if (i + 1 < kHalves * kRowGroups) load_words(chunk, i + 1, first_half, words[(i + 1) % 2]);
      multiply_half(words[i % 2], tokens, b[i % kHalves], chunk, i / kHalves * kRowsAtOnce,
                    i % kHalves, first_half);
    }
  }
  __device__ __forceinline__ void load_words(const Slots& chunk, int i, int first_half,
                                             Words& words) const {
#pragma unroll
    for (int row = 0; row < kRowsAtOnce; ++row) {
      const int r = i / kHalves * kRowsAtOnce + row;
      if (r >= S::kRowTiles) break;
      const u32 from = chunk.row_block(r);
      const int half = first_half + i % kHalves;
      Lane::load_words(from, half, words.of_row[row]);
      if constexpr (Lane::kPassesScales) words.to_pass[row] = Lane::scales_to_pass(from, half);
    }
  }

  // B fragments of kStep columns: of each 8 tokens and 32 columns one ldmatrix. Lane i reads token
  // i % 8, of 8 columns.
  __device__ __forceinline__ void load_tokens(u32 tokens, Tokens& b) const {
    const int lane = 4 * g + t;
    const u32 row = tokens + 128 * (lane % 8);
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int place = (4 * i + lane / 8) ^ (lane % 8);  // swizzled
          ldmatrix_x4(b[half][j][i], row + half * Memory::kHalfBytes + 1024 * j + 16 * place);
        }
  }

  // Loads tokens of 32 columns of half a chunk, the first or second pair of its tiles. The barrier
  // keeps the compiler from loading both pairs at once, for which there are no registers.
  __device__ __forceinline__ void load_pair(u32 tokens, int pair,
                                            u32 (&b)[S::kTokenTiles][2][4]) const {
    const int lane = 4 * g + t;
    const u32 row = tokens + 128 * (lane % 8);
    const int place = (4 * pair + lane / 8) ^ (lane % 8);
    warp_barrier();
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) ldmatrix_x4(b[j][pair], row + 1024 * j + 16 * place);
  }

  // 64 columns of the row tiles from `first_row` on, `half` of the step.
  __device__ __forceinline__ void multiply_half(const Words& words, u32 tokens,
                                                u32 (&b)[S::kTokenTiles][2][4], const Slots& chunk,
                                                int first_row, int half, int first_half) {
    constexpr int kTiles = Decode::kTiles;
    u32 a[kRowsAtOnce][kTiles][4];
#pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      const int i = tile % kTiles;
      const int here = 64 * half + 16 * tile;     // in the step
      const int column = 64 * first_half + here;  // in the chunk
      const bool begins = Config::value.weights.begins_unit(here, kUnit, kStep);
      if (kLoadsPairs && tile % 2 == 0) load_pair(tokens, tile / 2, b);
#pragma unroll
      for (int row = 0; row < kRowsAtOnce; ++row) {
        const int r = first_row + row;
        if (r >= S::kRowTiles) break;
        if (begins) begin_unit(chunk.row_block(r), column, row, r, words.to_pass[row]);
        decoder_.decode(kChannel ? r : row, words.of_row[row], tile / kTiles, i, begins, a[row]);
      }
#pragma unroll
      for (int row = 0; row < kRowsAtOnce; ++row) {
        const int r = first_row + row;
        if (r >= S::kRowTiles) break;
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          const u32(&pair)[4] = b[j][tile / 2];
          MmaAmpere::mma16816(Value{}, kPartial ? part_[row][j] : sum[r][j], a[row][i],
                              pair[tile % 2 * 2], pair[tile % 2 * 2 + 1]);
        }
        if (kPartial && Config::value.weights.ends_unit(here, kUnit, kStep)) {
          end_unit(chunk.row_block(r), column, row, r);
        }
      }
    }
  }

  // `row`: of those that are multiplied at once.
  __device__ __forceinline__ void begin_unit(u32 chunk, int column, int row, int r, u32 to_pass) {
    decoder_.begin_group(kChannel ? r : row, Lane::int_zeros(chunk, column),
                         Lane::weight_scales(chunk, column, to_pass));
    if constexpr (kPartial) clear(part_[row]);
  }
  __device__ __forceinline__ void end_unit(u32 chunk, int column, int row, int r) {
    const RowPair scales = Lane::sum_scales(chunk, column);
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; ++j) add_scaled(scales, part_[row][j], sum[r][j]);
  }

  // Zero points per channel stay in registers for all row tiles; what belongs to groups only for
  // those that are multiplied at once.
  RowTileDecoder<Config, Decode, kChannel ? S::kRowTiles : kRowsAtOnce> decoder_;
  Part part_[kPartial ? kRowsAtOnce : 1];  // of a unit, before its scale
};

}  // namespace heddle
