#include "generator/planner/few_tile.h"

#include <algorithm>

#include "generator/families/tiles/config.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"

namespace heddle {
namespace {

constexpr int kMostTokens = 16;
constexpr int kFewestStages = 3;
constexpr int kMostStages = 6;  // more were not faster
constexpr int kMostRegisters = 130;

// Stages, the first that fits: best are 128 columns for each warp, which then looks at scales once.
struct Stage {
  int columns, warps_n, warps_k;
};
constexpr Stage kStages[] = {{1024, 1, 8}, {512, 2, 4}, {512, 1, 8}, {256, 2, 4}, {256, 1, 4}};

int stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    const GemmVariant& v) {
  if (tiles_sizes(layout, v).sum_bytes() > target.shared_per_block) return 0;
  return std::min(kMostStages,
                  target.shared_per_block / tiles_config(spec, layout, v).stage_bytes());
}

// What a thread has of each row tile, besides what all of them share.
bool fits_registers(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  const bool partial = choose_scale_mode(spec, layout, v) == ScaleMode::kAccumulator;
  const int sums = (partial ? 8 : 4) * v.token_tiles();
  const int zero = spec.weight.zero_point == ZeroPoint::kNone ? 0 : 2;
  return v.row_tiles() * (sums + spec.weight.bits + zero + 1) <= kMostRegisters;
}

}  // namespace

std::optional<GemmVariant> few_tile(const GemmSpec& spec, const Target& target,
                                    const WeightLayout& layout, Path path, std::int64_t m_min,
                                    std::int64_t m_max) {
  if (m_max > kMostTokens || sets_any(spec.tile) || path != Path::kAmpere) return std::nullopt;
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = m_max;
  v.path = path;
  v.tile_m = m_max <= 8 ? 8 : 16;
  // Row blocks in one round of blocks, or in as few as hold them.
  for (std::int64_t rounds = 1; rounds <= layout.row_blocks; ++rounds) {
    const auto row_blocks = ceil_div(layout.row_blocks, rounds * target.sm_count);
    v.tile_n = static_cast<int>(row_blocks) * WeightLayout::kRowBlock;
    for (const Stage& stage : kStages) {
      if (stage.columns > 512 && v.tile_m > 8) continue;
      v.stage_k = stage.columns;
      v.warps_n = stage.warps_n;
      v.warps_k = stage.warps_k;
      if (row_blocks % v.warps_n != 0 || !fits_registers(spec, layout, v)) continue;
      v.stages = stages_that_fit(spec, target, layout, v);
      if (v.stages < kFewestStages) continue;
      settle_scale(spec, layout, v);
      v.shared_bytes = tiles_config(spec, layout, v).shared_bytes();
      return v;
    }
    if (row_blocks == 1) break;
  }
  return std::nullopt;
}

}  // namespace heddle
