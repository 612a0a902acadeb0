// A warpgroup's share of a piece where both operands are codes of eight bits in shared memory:
// nothing is decoded, and wgmma reads rows and tokens as the copies have put them.
//
// A chunk is 128 columns. FP8 that is promoted: its products, four instructions, go to registers of
// their own and from there to the sums in FP32, while the other warpgroup's are on their way. Of
// more than 128 tokens half are multiplied at a time, so that registers hold both. With
// ScaleMode::kBlock they are multiplied by their factors on the way. Of INT8, and of FP8 that is
// not promoted, all chunks are added where the instruction adds, and a stage is given back behind
// the next one's products.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/float.cuh"
#include "primitives/wgmma_bytes.cuh"
#include "schedule/piece.cuh"
#include "warpgroup/block_factors.cuh"
#include "warpgroup/ping_pong.cuh"
#include "warpgroup/release.cuh"
#include "warpgroup/stage.cuh"

namespace heddle {

template <class Config>
struct WgmmaByteMultiply {
  using S = WgmmaShape<Config>;
  using Rows = typename Config::WeightCodes;
  using Columns = typename Config::TokenCodes;
  static constexpr bool kPromotes = Config::value.promotes;
  static constexpr bool kSharesChunks = S::kOwnChunks < S::kStageChunks;
  static constexpr int kChunkStep = S::kStageChunks / S::kOwnChunks;  // to a warpgroup's next one
  static constexpr bool kEndsShort = S::kLastChunks != 0;
  static constexpr int kSteps = S::kSplitsChunks ? 2 : 4;  // of 32 columns, of a chunk
  static constexpr int kHalfSteps = 2;                     // of half a chunk
  static constexpr int kStepUnits = 2;                     // of 16 bytes, of a step
  static constexpr int kSlices = kPromotes ? S::kTileTokens / Config::value.chunk_sum_tokens() : 1;
  static constexpr int kSliceSums = S::kSums / kSlices;
  static constexpr u32 kSliceUnits = S::kTileTokens / kSlices * 128 / 16;
  static constexpr u32 kRowTileUnits = 64 * 128 / 16;

  static constexpr bool kScales = Config::value.scales_blocks();
  static_assert(!kScales || kPromotes, "sums are scaled where they are promoted");

  WgmmaRelease<Config> release;
  WgmmaPingPong<Config> ping_pong;
  WgmmaBlockFactors<Config> factors;  // with ScaleMode::kBlock
  int warpgroup, warp, lane;          // warp of the warpgroup
  int row_block;                      // in the tile, the warpgroup's first
  int first_chunk;                    // that the warpgroup multiplies, of a stage's
  int first_step;                     // of a chunk's

  typename Rows::Sum sum[S::kRowTiles][S::kSums];  // see ByteSums
  float chunk_sum[kPromotes ? kSliceSums : 1];     // of a chunk and a slice of the tile

  __device__ __forceinline__ WgmmaByteMultiply(WgmmaMemory<Config> memory, int warpgroup, int warp,
                                               int lane)
      : release(memory, lane),
        ping_pong(warpgroup),
        factors{},
        warpgroup(warpgroup),
        warp(warp),
        lane(lane),
        row_block(
            S::kSplitsColumns || Config::value.has_token_rows() ? 0 : 4 * S::kRowTiles * warpgroup),
        first_chunk(kSharesChunks ? warpgroup : 0),
        first_step(S::kSplitsChunks ? kHalfSteps * warpgroup : 0) {
#pragma unroll
    for (float& v : chunk_sum) v = 0.0f;
  }

  __device__ __forceinline__ void begin(const u8* weights, const WeightShape& shape,
                                        const Piece& piece) {
    if constexpr (kScales) {
      factors.begin(weights, shape, piece.row_tile + row_block / 4,
                    piece.begin * S::kStageChunks + first_chunk);
    }
  }

  // The units of one piece; `stage` walks on.
  __device__ __forceinline__ void run(const Piece& piece, const WeightShape& shape,
                                      WgmmaStage<Config>& stage) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (auto& v : sum[r]) v = 0;
    u32 previous = 0;  // the full barrier of the stage before, which products may still read
#pragma unroll 1
    for (int k = piece.begin; k < piece.end; ++k) {
      mbarrier_wait(stage.full_barrier, stage.parity);
      const int count = S::chunks_of_unit(k, shape);
#pragma unroll
      for (int c = 0; c < S::kOwnChunks; ++c) {
        const int of_stage = first_chunk + c * kChunkStep;
        if (kEndsShort && of_stage >= count) break;
        multiply_chunk(stage, of_stage, k * S::kStageChunks + of_stage);
      }
      if constexpr (kPromotes) {
        release.run(stage.full_barrier);
      } else {
        wgmma_commit();
        wgmma_wait<1>();
        release.run(previous);
        previous = stage.full_barrier;
      }
      stage.advance();
    }
    if constexpr (!kPromotes) {
      wgmma_wait<0>();
      release.run(previous);
    }
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (auto& v : sum[r]) pin(v);
  }

  // The ring's first stage, as this warpgroup reads it.
  __device__ __forceinline__ WgmmaStage<Config> first_stage() const {
    return {release.memory, row_block, 0};
  }

 private:
  // Multiplies the stage's chunk `of_stage`, which is chunk `chunk` of K.
  __device__ __forceinline__ void multiply_chunk(const WgmmaStage<Config>& stage, int of_stage,
                                                 int chunk) {
    const u64 rows =
        wgmma_columns(stage.weights() + of_stage * S::kChunkBytes) + kStepUnits * first_step;
    const u64 columns = stage.columns() + of_stage * (S::kHalfBytes / 16) + kStepUnits * first_step;
    if constexpr (Config::value.has_token_rows()) {
      multiply_token_rows(stage, rows, columns, of_stage, chunk);
    } else {
      multiply_row_tiles(stage, rows, columns, of_stage, chunk);
    }
  }

  __device__ __forceinline__ void multiply_row_tiles(const WgmmaStage<Config>& stage, u64 rows,
                                                     u64 columns, int of_stage, int chunk) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const u64 of_tile = rows + r * kRowTileUnits;
      if constexpr (kPromotes) {
        const RowPair of_rows = factors.next[r];
        if constexpr (kScales) factors.load(r, chunk + kChunkStep);
#pragma unroll
        for (int slice = 0; slice < kSlices; ++slice) {
          multiply_slice(Rows{}, Columns{}, of_tile, columns + slice * kSliceUnits);
          promote(sum[r] + slice * kSliceSums, of_rows, [&](int eight) {
            return factors.tokens(stage.factors(), of_stage, 2 * slice * kSliceSums + 8 * eight,
                                  lane % 4, chunk);
          });
        }
      } else {
        if (r == 0) wgmma_fence();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          wgmma(Rows{}, Columns{}, sum[r], of_tile + kStepUnits * step, columns + kStepUnits * step,
                true);
        }
      }
    }
  }

  // Multiplies a chunk with the warpgroup's tokens, a box in tiles of 64, as rows of the
  // instruction, and 128 rows of W as its columns: of each such slice sums lie together.
  __device__ __forceinline__ void multiply_token_rows(const WgmmaStage<Config>& stage, u64 rows,
                                                      u64 columns, int of_stage, int chunk) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const RowPair of_rows = factors.next[r];
      factors.load(r, chunk + kChunkStep);
#pragma unroll
      for (int tile = 0; tile < S::kTokenTiles; ++tile) {
        const int token = 64 * tile + 16 * warp + lane / 4;  // and the eighth behind it
        const float first = factors.token(stage.factors(), of_stage, warpgroup, token, chunk);
        const float second = factors.token(stage.factors(), of_stage, warpgroup, token + 8, chunk);
        multiply_slice(Columns{}, Rows{},
                       columns + (S::kTokenTiles * warpgroup + tile) * kRowTileUnits,
                       rows + 2 * r * kRowTileUnits);
        promote_tokens(sum[r] + tile * kSliceSums, first, second, of_rows);
      }
    }
  }

  // Adds `chunk_sum` to its sums: of tokens g and g + 8, and of eight rows of W that, with gates,
  // are gates, then of the next eight, their ups.
  __device__ __forceinline__ void promote_tokens(float* sums, float first, float second,
                                                 const RowPair& rows) const {
#pragma unroll
    for (int i = 0; i < kSliceSums; i += 4) {
      const float of_eight = i % 8 == 0 ? rows.low : rows.high;
      sums[i] = multiply_add(chunk_sum[i], multiply(first, of_eight), sums[i]);
      sums[i + 1] = multiply_add(chunk_sum[i + 1], multiply(first, of_eight), sums[i + 1]);
      sums[i + 2] = multiply_add(chunk_sum[i + 2], multiply(second, of_eight), sums[i + 2]);
      sums[i + 3] = multiply_add(chunk_sum[i + 3], multiply(second, of_eight), sums[i + 3]);
    }
  }

  // The products of a chunk and a slice of the tile to `chunk_sum`.
  template <class A, class B>
  __device__ __forceinline__ void multiply_slice(A a, B b, u64 rows, u64 columns) {
#pragma unroll
    for (float& v : chunk_sum) pin(v);
    if constexpr (Config::value.ping_pongs()) ping_pong.wait(release.memory, warpgroup);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      wgmma(a, b, chunk_sum, rows + kStepUnits * step, columns + kStepUnits * step, step > 0);
    }
    wgmma_commit();
    if constexpr (Config::value.ping_pongs())
      ping_pong.pass(release.memory, warpgroup, release.is_first_lane);
    wgmma_wait<0>();
#pragma unroll
    for (float& v : chunk_sum) pin(v);
  }

  // Adds `chunk_sum` to its sums. With factors, those of rows g and g + 8, and of_tokens(i) of the
  // lane's two of eight tokens: their product is rounded, then the sum.
  template <class OfTokens>
  __device__ __forceinline__ void promote(float* sums, const RowPair& rows,
                                          const OfTokens& of_tokens) const {
    if constexpr (!kScales) {
#pragma unroll
      for (int i = 0; i < kSliceSums; ++i) sums[i] += chunk_sum[i];
    } else {
#pragma unroll
      for (int i = 0; i < kSliceSums; i += 4) {
        const auto tokens = of_tokens(i / 4);
        sums[i] = multiply_add(chunk_sum[i], multiply(tokens.first, rows.low), sums[i]);
        sums[i + 1] =
            multiply_add(chunk_sum[i + 1], multiply(tokens.second, rows.low), sums[i + 1]);
        sums[i + 2] =
            multiply_add(chunk_sum[i + 2], multiply(tokens.first, rows.high), sums[i + 2]);
        sums[i + 3] =
            multiply_add(chunk_sum[i + 3], multiply(tokens.second, rows.high), sums[i + 3]);
      }
    }
  }
};

}  // namespace heddle
