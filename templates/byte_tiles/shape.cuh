// Constants that follow from the configuration of a GEMM by tiles of bytes; config.h says how.
#pragma once

#include "byte_tiles/config.h"
#include "primitives/types.cuh"

namespace heddle {

template <class Config>
struct ByteTilesShape {
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kRowTiles = Config::value.row_tiles();
  static constexpr int kTokenTiles = Config::value.token_tiles();
  static constexpr int kRunChunks = Config::value.run_chunks();

  // A row of a chunk, or a token's columns of one: eight units of 16 bytes, which the number of the
  // row permutes, so that the eight rows of an ldmatrix lie in different banks.
  static constexpr int kLineBytes = Chunk::kColumns;
  static constexpr int kLineUnits = kLineBytes / 16;
  static constexpr int kChunkBytes = Chunk::kRows * kLineBytes;
  static constexpr int kStageChunks = Config::value.stage_chunks();
  static constexpr int kStageRowBlocks = Config::value.stage_row_blocks();
  static constexpr int kRowBlockBytes = kStageChunks * kChunkBytes;
  static constexpr int kWeightBytes = Config::value.weight_bytes();
  static constexpr int kTokenBytes = Config::value.tile_m * kLineBytes;  // of a chunk's columns
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kStages = Config::value.stages;
  // What schedule/split_k.cuh asks for.
  static constexpr int kTileTokens = Config::value.tile_m;
  static constexpr int kTotalUnits = Config::value.total_stages();
  static constexpr int kSplitK = Config::value.split_k;

  static_assert(Config::value.weights.chunk_bytes == kChunkBytes, "rows of codes alone");
  static_assert(Config::value.stage_k % (Chunk::kColumns * Config::value.warps_k) == 0,
                "whole chunks per warp");
  static_assert(Config::value.tile_n % (16 * Config::value.warps_n) == 0,
                "whole row tiles per warp");
  static_assert(Config::value.tile_m % (8 * Config::value.warps_m) == 0,
                "whole token tiles per warp");

  // Bytes from a multiple of 128 to a unit of row `row` there.
  static __device__ __forceinline__ u32 unit_offset(u32 row, u32 unit) {
    return row * kLineBytes + ((unit ^ (row & 7)) << 4);
  }
};

}  // namespace heddle
