// A warpgroup's share of a piece where both operands are codes of eight bits in shared memory:
// nothing is decoded, and wgmma reads rows and tokens as the copies have put them.
//
// A chunk is 128 columns. FP8 that is promoted: its products, four instructions, go to registers of
// their own and from there to the sums in FP32, while the other warpgroup's are on their way. Of
// more than 128 tokens half are multiplied at a time, so that registers hold both. Else all chunks
// are added where the instruction adds, and a stage is given back behind the next one's products.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/wgmma_bytes.cuh"
#include "schedule/piece.cuh"
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
  static constexpr bool kEndsShort = S::kLastChunks != 0;
  static constexpr int kSteps = S::kSplitsChunks ? 2 : 4;  // of 32 columns, of a chunk
  static constexpr int kHalfSteps = 2;                     // of half a chunk
  static constexpr int kStepUnits = 2;                     // of 16 bytes, of a step
  static constexpr int kParts = kPromotes ? S::kTileTokens / Config::value.part_tokens() : 1;
  static constexpr int kPartSums = S::kSums / kParts;
  static constexpr u32 kPartUnits = S::kTileTokens / kParts * 128 / 16;
  static constexpr u32 kRowTileUnits = 64 * 128 / 16;

  WgmmaRelease<Config> release;
  int row_block;    // in the tile, the warpgroup's first
  int first_chunk;  // that the warpgroup multiplies, of a stage's
  int first_step;   // of a chunk's

  typename Rows::Sum sum[S::kRowTiles][S::kSums];  // see ByteSums
  float part[kPromotes ? kPartSums : 1];           // of a chunk

  __device__ __forceinline__ WgmmaByteMultiply(WgmmaMemory<Config> memory, int warpgroup,
                                               int /*warp*/, int lane)
      : release(memory, lane),
        row_block(S::kSplitsColumns ? 0 : 4 * S::kRowTiles * warpgroup),
        first_chunk(kSharesChunks ? warpgroup : 0),
        first_step(S::kSplitsChunks ? kHalfSteps * warpgroup : 0) {
#pragma unroll
    for (float& v : part) v = 0.0f;
  }

  __device__ __forceinline__ void begin(const u8*, const WeightShape&, const Piece&) {}

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
        const int of_stage = first_chunk + c * (S::kStageChunks / S::kOwnChunks);
        if (kEndsShort && of_stage >= count) break;
        multiply_chunk(stage, of_stage);
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
  __device__ __forceinline__ void multiply_chunk(const WgmmaStage<Config>& stage, int of_stage) {
    const u64 rows =
        wgmma_columns(stage.weights() + of_stage * S::kChunkBytes) + kStepUnits * first_step;
    const u64 columns = stage.columns() + of_stage * (S::kHalfBytes / 16) + kStepUnits * first_step;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const u64 of_tile = rows + r * kRowTileUnits;
      if constexpr (kPromotes) {
#pragma unroll
        for (int half = 0; half < kParts; ++half) {
          promote(of_tile, columns + half * kPartUnits, sum[r] + half * kPartSums);
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

  __device__ __forceinline__ void promote(u64 rows, u64 columns, float* sums) {
#pragma unroll
    for (float& v : part) pin(v);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      wgmma(Rows{}, Columns{}, part, rows + kStepUnits * step, columns + kStepUnits * step,
            step > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (float& v : part) pin(v);
#pragma unroll
    for (int i = 0; i < kPartSums; ++i) sums[i] += part[i];
  }
};

}  // namespace heddle
