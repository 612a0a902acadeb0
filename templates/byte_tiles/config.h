// The configuration of a GEMM of two operands of eight bits by tiles of mma.sync (byte_tiles.cuh).
#pragma once

#include "steps/config.h"

namespace heddle::device {

// A thread block computes tile_n rows of W by tile_m tokens. Weights are the A operand: a warp owns
// row_tiles() tiles of 16 rows and token_tiles() tiles of 8 tokens, and run_chunks() chunks of each
// stage.
struct ByteTilesConfig {
  PackedWeights weights;
  WeightShape shape;
  Scaling scaling;
  EpilogueConfig epilogue;
  bool by_registers;     // stages are loaded through registers, and INT8 multiplied by mma.m8n8k16
  bool converts;         // the compiler makes FP16 of FP8, which the target does not multiply
  bool promotes;         // sums of 128 columns are added in FP32
  bool scale_per_token;  // else one scale for all tokens
  bool token_zeros;      // tokens have zero points, which meet the sums of the rows' codes
  int tile_m;            // tokens of a thread block
  int tile_n;            // rows of W of a thread block
  int stage_k;           // columns of a stage
  int stages;            // of the ring in shared memory
  int split_k;           // thread blocks along K, whose sums are added in a fixed order
  int warps_m;           // warps along the tokens
  int warps_n;           // along the rows
  int warps_k;           // along the chunks of a stage, whose sums meet in the epilogue

  HEDDLE_BOTH constexpr int threads() const { return 32 * warps_m * warps_n * warps_k; }

  HEDDLE_BOTH constexpr int row_tiles() const { return tile_n / (16 * warps_n); }
  HEDDLE_BOTH constexpr int token_tiles() const { return tile_m / (8 * warps_m); }
  HEDDLE_BOTH constexpr int run_chunks() const { return stage_chunks() / warps_k; }

  // A stage: weights [tile_n / 16][stage_chunks()] chunks, then tokens
  // [stage_chunks()][tile_m][128 bytes], swizzled as the rows of a chunk are.
  HEDDLE_BOTH constexpr int stage_chunks() const { return stage_k / Chunk::kColumns; }
  HEDDLE_BOTH constexpr int stage_row_blocks() const { return tile_n / Chunk::kRows; }
  HEDDLE_BOTH constexpr int total_stages() const {
    return static_cast<int>(ceil_div(shape.chunks, stage_chunks()));
  }
  HEDDLE_BOTH constexpr int weight_bytes() const { return tile_n * stage_k; }
  HEDDLE_BOTH constexpr int stage_bytes() const { return (tile_n + tile_m) * stage_k; }

  // Sums in the epilogue, in the place of the ring: [warps_k][tile_m][sum_stride()]; the padding
  // spreads the banks. Behind both the scales of the tokens, then their zero points.
  HEDDLE_BOTH constexpr int sum_stride() const { return tile_n + 4; }
  HEDDLE_BOTH constexpr int sum_bytes() const { return 4 * warps_k * tile_m * sum_stride(); }
  HEDDLE_BOTH constexpr int token_value_offset() const {
    return max_of(stages * stage_bytes(), sum_bytes());
  }
  HEDDLE_BOTH constexpr int own_tokens() const { return tile_m; }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return token_value_offset() + 4 * (token_zeros ? 2 : 1) * tile_m;
  }

  // Eight sums of a token each, and what a thread stores to Y at a time.
  HEDDLE_BOTH constexpr int vectors() const { return tile_m * tile_n / 8; }
  HEDDLE_BOTH constexpr int outputs() const { return tile_m * tile_n / epilogue.rows(); }

  HEDDLE_FIELDS(weights, shape, scaling, epilogue, by_registers, converts, promotes,
                scale_per_token, token_zeros, tile_m, tile_n, stage_k, stages, split_k, warps_m,
                warps_n, warps_k)
};

}  // namespace heddle::device
