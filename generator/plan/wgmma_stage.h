// A stage of a GEMM with wgmma: chunks of weights, or half a chunk of each row block, and the
// tokens of their columns.
#ifndef HEDDLE_GENERATOR_PLAN_WGMMA_STAGE_H_
#define HEDDLE_GENERATOR_PLAN_WGMMA_STAGE_H_

#include "heddle/plan.h"

namespace heddle {

// Blocks of a cluster that share K or tokens. 32 clusters of four did not fit a GPU whose GPCs have
// 16 or 18 SMs.
inline constexpr int kWgmmaCluster = 2;

inline constexpr int kWgmmaRowTile = 64;

// That multiply: two, or four of a row tile each.
inline int wgmma_warpgroups(const GemmVariant& v) { return v.warps_n / 4; }
inline bool wgmma_has_four(const GemmVariant& v) { return wgmma_warpgroups(v) == 4; }

// Whether a tile may have half of its tokens alone.
inline bool wgmma_narrows(const GemmVariant& v) { return v.tile_m > 128; }

inline bool wgmma_halves(const GemmVariant& v) { return v.stage_k < WeightLayout::kChunkK; }

// Row tiles of the blocks that take a tile each together: pairs that share rows have one in common.
inline int wgmma_set_row_tiles(const GemmVariant& v) {
  const int of_block = v.tile_n / kWgmmaRowTile;
  return v.shares_rows ? 2 * of_block - 1 : v.cluster * of_block;
}

// Of whole chunks.
inline int wgmma_weight_bytes(const GemmVariant& v, const WeightLayout& layout) {
  return v.stage_chunks * v.tile_n / WeightLayout::kRowBlock * layout.chunk_bytes;
}
inline int wgmma_token_bytes(const GemmVariant& v) {
  return v.stage_chunks * v.tile_m * 2 * WeightLayout::kChunkK;
}

// In shared memory. Half a chunk comes with all of its scales and zero points.
inline int wgmma_stage_bytes(const GemmVariant& v, const WeightLayout& layout) {
  const int whole = wgmma_weight_bytes(v, layout) + wgmma_token_bytes(v);
  if (!wgmma_halves(v)) return whole;
  const int words = v.tile_n / WeightLayout::kRowBlock * layout.scale_offset / 2;
  return whole - words - wgmma_token_bytes(v) / 2;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_WGMMA_STAGE_H_
