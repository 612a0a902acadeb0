// Constants that follow from the configuration of a GEMM by tiles; config.h says how.
#pragma once

#include "primitives/types.cuh"
#include "steps/stage.cuh"
#include "tiles/config.h"

namespace heddle {

template <class Config>
struct Shape {
  static constexpr int kRowBlock = device::Chunk::kRows;
  static constexpr int kChunkK = Chunk::kColumns;
  static constexpr int kThreads = Config::value.threads();

  static constexpr int kRowTiles = Config::value.row_tiles();
  static constexpr int kTokenTiles = Config::value.token_tiles();
  static constexpr int kRun = Config::value.run();
  static constexpr int kUnit = Config::value.unit();

  static constexpr int kStageChunks = Config::value.stage_chunks();
  static constexpr int kLastChunks = Config::value.shape.chunks % kStageChunks;  // 0: all
  static constexpr int kStageRowBlocks = Config::value.stage_row_blocks();
  static constexpr int kRowBlockBytes = kStageChunks * Config::value.weights.chunk_bytes;
  static_assert(Config::value.weights.scale_offset == 256 * Config::value.weights.bits,
                "16 rows by 128 columns");
  static constexpr int kWeightBytes = Config::value.weight_bytes();
  static constexpr int kTokenBytes = Config::value.token_bytes();
  static constexpr int kPreScaleOffset = Config::value.pre_scale_offset();
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kTotalStages = Config::value.total_stages();
  // What a schedule (schedule/split_k.cuh) asks for.
  static constexpr int kTileTokens = Config::value.tile_m;
  static constexpr int kTotalUnits = kTotalStages;
  static constexpr int kSplitK = Config::value.split_k;

  static_assert(Config::value.stage_k % kChunkK == 0 && kRun % 64 == 0,
                "a warp reads 64 columns at once");
  static_assert(Config::value.tile_n % (16 * Config::value.warps_n) == 0,
                "whole row tiles per warp");
  static_assert(Config::value.tile_m % (8 * Config::value.warps_m) == 0,
                "whole token tiles per warp");
  static_assert(Config::value.weights.chunk_bytes % 16 == 0, "chunks are copied in 16-byte pieces");
};

// Units of 16 bytes in a row of activations are permuted by the row's low bits, so that the eight
// rows of one ldmatrix tile lie in different banks.
template <class Config>
__device__ __forceinline__ u32 token_unit_offset(u32 row, u32 unit) {
  return row * Shape<Config>::kTokenBytes + ((unit ^ (row & 7)) << 4);
}

}  // namespace heddle
