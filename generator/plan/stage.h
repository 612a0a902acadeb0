// Sizes in shared memory that a tile asks for; the same arithmetic as templates/gemm/shape.cuh,
// which checks the result when it is compiled.
#ifndef HEDDLE_GENERATOR_PLAN_STAGE_H_
#define HEDDLE_GENERATOR_PLAN_STAGE_H_

#include <cstdint>

#include "heddle/plan.h"

namespace heddle {

// Of each block, that CUDA takes.
inline constexpr int kReservedSharedBytes = 1024;
// Of memory and of shared memory.
inline constexpr int kLineBytes = 128;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// One stage: the chunks of every row block, then the activations and the factors of their columns.
inline int stage_bytes(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout) {
  const int chunks = v.tile_n / WeightLayout::kRowBlock * (v.stage_k / WeightLayout::kChunkK);
  const int rows = v.tile_m + (spec.pre_scale && !spec.act_order ? 1 : 0);
  return chunks * layout.chunk_bytes + rows * v.stage_k * 2;
}

// The FP32 sums that the warps along K exchange in the epilogue, rows padded by four floats.
inline int sum_bytes(const GemmVariant& v) { return 4 * v.warps_k * v.tile_m * (v.tile_n + 4); }

inline int shared_bytes(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout) {
  const int pipeline = v.stages * stage_bytes(spec, v, layout);
  const int sums = sum_bytes(v);
  return pipeline > sums ? pipeline : sums;
}

inline std::int64_t total_stages(const GemmVariant& v, const WeightLayout& layout) {
  return ceil_div(layout.chunks_per_row_block, v.stage_k / WeightLayout::kChunkK);
}

// How far a warp goes between two looks at scales and zero points.
inline int unit_k(const GemmVariant& v, const WeightLayout& layout) {
  const int run = v.stage_k / v.warps_k;
  const int group = layout.meta_group;
  if (group >= 128 && run >= 128 && v.row_tiles() * v.token_tiles() < 8) return 128;
  return group >= 64 ? 64 : group;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_STAGE_H_
