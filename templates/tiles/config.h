// The configuration of a GEMM by tiles of mma.sync (tiles.cuh, bulk.cuh).
#pragma once

#include "steps/config.h"

namespace heddle::device {

// What fills the stages in shared memory.
HEDDLE_ENUM(Feeder,
            kRegisters,  // loads and stores of the warps that multiply
            kAsync,      // their cp.async
            kBulk);      // one warp's bulk and tensor copies

// A thread block computes tile_n rows of W by tile_m tokens. Weights are the A operand: a warp owns
// row_tiles() tiles of 16 rows and token_tiles() tiles of 8 tokens, and run() columns of each
// stage.
struct TilesConfig {
  PackedWeights weights;
  WeightShape shape;
  Scaling scaling;
  EpilogueConfig epilogue;
  bool pre_scale;  // the columns of the tokens have factors
  Feeder feeder;
  bool reads_ahead;  // warps load and decode ahead of what they multiply
  int tile_m;        // tokens of a thread block
  int tile_n;        // rows of W of a thread block
  int stage_k;       // columns of a stage
  int stages;        // of the ring in shared memory
  int split_k;  // thread blocks along K, whose sums are added in a fixed order; kBulk: those of
                // a cluster, at most kMostOfCluster
  int warps_m;  // warps along the tokens
  int warps_n;  // along the rows
  int warps_k;  // along the columns of a stage, whose sums meet in the epilogue
  int stages_ahead;  // kBulk: whose weights are copied before griddepcontrol.wait

  HEDDLE_BOTH constexpr int multiplying_warps() const { return warps_m * warps_n * warps_k; }
  HEDDLE_BOTH constexpr int threads() const {
    return 32 * (multiplying_warps() + (feeder == Feeder::kBulk ? 1 : 0));
  }

  HEDDLE_BOTH constexpr int row_tiles() const { return tile_n / (16 * warps_n); }
  HEDDLE_BOTH constexpr int token_tiles() const { return tile_m / (8 * warps_m); }
  HEDDLE_BOTH constexpr int run() const { return stage_k / warps_k; }
  // How far a warp goes between two looks at scales and zero points. Large tiles have little to
  // gain from a long unit, and no registers for it.
  HEDDLE_BOTH constexpr int unit() const {
    const bool is_long =
        weights.meta_group >= 128 && run() % 128 == 0 && row_tiles() * token_tiles() < 8;
    return is_long ? 128 : weights.meta_group >= 64 ? 64 : weights.meta_group;
  }

  // kBulk: many sums and many tokens leave a warp fewer registers for the rest. The tokens of
  // bulk_step() columns are in registers, of a whole chunk where they fit, and scales and zero
  // points are looked at every bulk_unit() columns.
  HEDDLE_BOTH constexpr bool has_many_sums() const { return row_tiles() * token_tiles() > 10; }
  HEDDLE_BOTH constexpr bool has_many_tokens() const { return token_tiles() > 4; }
  HEDDLE_BOTH constexpr int bulk_step() const {
    const bool is_long = weights.meta_group >= Chunk::kColumns && run() % Chunk::kColumns == 0 &&
                         !has_many_sums() && !has_many_tokens();
    return is_long ? Chunk::kColumns : Chunk::kColumns / 2;
  }
  HEDDLE_BOTH constexpr int bulk_unit() const { return min_of(weights.meta_group, bulk_step()); }

  // A stage of registers and cp.async: the chunks of every row block, then the tokens
  // [tile_m][stage_k], swizzled, then the factors of their columns [stage_k].
  HEDDLE_BOTH constexpr int stage_chunks() const { return stage_k / Chunk::kColumns; }
  HEDDLE_BOTH constexpr int stage_row_blocks() const { return tile_n / Chunk::kRows; }
  HEDDLE_BOTH constexpr int total_stages() const {
    return static_cast<int>(ceil_div(shape.chunks, stage_chunks()));
  }
  HEDDLE_BOTH constexpr int weight_bytes() const {
    return stage_row_blocks() * stage_chunks() * weights.chunk_bytes;
  }
  HEDDLE_BOTH constexpr int token_bytes() const { return 2 * stage_k; }  // of one token
  HEDDLE_BOTH constexpr int pre_scale_offset() const {
    return weight_bytes() + tile_m * token_bytes();
  }
  HEDDLE_BOTH constexpr int stage_bytes() const {
    return pre_scale_offset() + (pre_scale ? token_bytes() : 0);
  }

  // FP32 sums in the epilogue: [warps_k][tile_m][sum_stride()]; the padding spreads the banks.
  HEDDLE_BOTH constexpr int sum_stride() const { return tile_n + 4; }
  HEDDLE_BOTH constexpr int sum_bytes() const { return 4 * warps_k * tile_m * sum_stride(); }

  // Bulk copies are fastest where both of their ends begin at the same place of a line of 128
  // bytes, so each row block of a stage has a slot of whole lines, with room for a copy that begins
  // inside of its first one, at a multiple of place_unit().
  HEDDLE_BOTH constexpr unsigned place_unit() const {
    const unsigned places =
        static_cast<unsigned>(stage_chunks() * weights.chunk_bytes) |
        static_cast<unsigned>(shape.chunks) * static_cast<unsigned>(weights.chunk_bytes) | kLine;
    return places & (~places + 1);
  }
  HEDDLE_BOTH constexpr int slot_bytes() const {
    const int bytes = stage_chunks() * weights.chunk_bytes;
    return (bytes + 2 * kLine - 1 - static_cast<int>(place_unit())) / kLine * kLine;
  }
  // Its shared memory: tokens of all stages, slots of all stages, two barriers for each stage.
  HEDDLE_BOTH constexpr int bulk_token_bytes() const { return tile_m * token_bytes(); }
  HEDDLE_BOTH constexpr int bulk_weight_offset() const { return stages * bulk_token_bytes(); }
  HEDDLE_BOTH constexpr int bulk_weight_bytes() const { return stage_row_blocks() * slot_bytes(); }
  HEDDLE_BOTH constexpr int barrier_offset() const {
    return bulk_weight_offset() + stages * bulk_weight_bytes();
  }

  HEDDLE_BOTH constexpr int ring_bytes() const {
    return feeder == Feeder::kBulk ? barrier_offset() + 2 * 8 * stages : stages * stage_bytes();
  }
  HEDDLE_BOTH constexpr int used_bytes() const { return max_of(ring_bytes(), sum_bytes()); }

  // Where the blocks of a cluster share K: each adds the sums of all for its part of the tile's
  // vectors, of eight rows and a token, which follow each other row by row, whole outputs. The
  // other blocks may still read their rings when the first sums arrive, so these have a place of
  // their own: [split_k][most_own_vectors()], then the barrier that counts them in.
  HEDDLE_BOTH constexpr bool is_cluster() const { return feeder == Feeder::kBulk && split_k > 1; }
  HEDDLE_BOTH constexpr int vectors() const { return tile_m * tile_n / 8; }
  // What a thread stores to Y at a time: a vector, or the two of a row block of gates and ups.
  HEDDLE_BOTH constexpr int outputs() const { return tile_m * tile_n / epilogue.rows(); }
  HEDDLE_BOTH constexpr int most_own_vectors() const {
    return epilogue.rows() / 8 * static_cast<int>(ceil_div(outputs(), split_k));
  }
  HEDDLE_BOTH constexpr int given_offset() const { return (used_bytes() + 15) / 16 * 16; }
  HEDDLE_BOTH constexpr int given_barrier_offset() const {
    return given_offset() + split_k * most_own_vectors() * kVectorBytes;
  }
  HEDDLE_BOTH constexpr int shared_bytes() const {
    return is_cluster() ? given_barrier_offset() + 8 : used_bytes();
  }

  static constexpr int kLine = 128;
  static constexpr int kVectorBytes = 32;   // eight sums in FP32
  static constexpr int kMostOfCluster = 8;  // blocks that every GPU of sm_90 can run as a cluster

  HEDDLE_FIELDS(weights, shape, scaling, epilogue, pre_scale, feeder, reads_ahead, tile_m, tile_n,
                stage_k, stages, split_k, warps_m, warps_n, warps_k, stages_ahead)
};

}  // namespace heddle::device
