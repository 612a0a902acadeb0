// The configuration of a GEMM for one token whose weights go from global memory straight into
// registers (gemv.cuh).
#pragma once

#include "steps/config.h"

namespace heddle::device {

// A thread block owns one row block of 16 rows and a part of its chunks, of which each of its warps
// has a part.
struct GemvConfig {
  PackedWeights weights;
  WeightShape shape;
  Scaling scaling;
  EpilogueConfig epilogue;
  bool pre_scale;  // the columns of X have factors
  bool turing;     // the matrix instruction is that of sm_75
  int warps_k;     // of a thread block, along K
  int ahead;       // chunks whose weights a warp holds in registers, or has on their way there
  int split_k;     // thread blocks along K, whose sums are added in a fixed order

  HEDDLE_BOTH constexpr int threads() const { return 32 * warps_k; }
  HEDDLE_BOTH constexpr i64 blocks() const { return static_cast<i64>(shape.row_blocks) * split_k; }
  // Chunks of a thread block and of a warp, at most.
  HEDDLE_BOTH constexpr int block_chunks() const {
    return static_cast<int>(ceil_div(shape.chunks, split_k));
  }
  HEDDLE_BOTH constexpr int warp_chunks() const {
    return static_cast<int>(ceil_div(block_chunks(), warps_k));
  }

  // Scales and zero points of a chunk, behind its weights.
  HEDDLE_BOTH constexpr int meta_bytes() const {
    return weights.chunk_bytes - weights.scale_offset;
  }

  // Shared memory: X and the metadata of the block's chunks, then the sums of its warps, FP32
  // [warps_k][16].
  HEDDLE_BOTH constexpr int token_bytes() const { return block_chunks() * kChunkTokenBytes; }
  HEDDLE_BOTH constexpr int meta_offset() const { return token_bytes(); }
  HEDDLE_BOTH constexpr int sum_offset() const {
    return meta_offset() + block_chunks() * meta_bytes();
  }
  HEDDLE_BOTH constexpr int shared_bytes() const { return sum_offset() + warps_k * kSumBytes; }

  static constexpr int kChunkTokenBytes = 2 * Chunk::kColumns;
  static constexpr int kSumBytes = 4 * Chunk::kRows;

  HEDDLE_FIELDS(weights, shape, scaling, epilogue, pre_scale, turing, warps_k, ahead, split_k)
};

}  // namespace heddle::device
