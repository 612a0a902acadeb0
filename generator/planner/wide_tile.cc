#include "generator/planner/wide_tile.h"

#include <algorithm>

#include "generator/families/tiles/config.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"

namespace heddle {
namespace {

constexpr std::int64_t kFewestTokens = 33;
constexpr int kMostStages = 4;
constexpr int kFewestStages = 3;  // of a tile that is weighed with others
constexpr int kMostSplit = 8;
constexpr int kFewestTokenTiles = 8;  // of a warp; fewer have little use for reading ahead
constexpr int kMostSums = 128;        // registers

// What a block takes for a stage of 128 columns, and to start and end, of an H200.
struct WideChoice {
  int tile_m, tile_n, warps_n, warps_k;
  double stage_us, block_us;
};
constexpr WideChoice kChoices[] = {
    {64, 128, 4, 2, 0.72, 2.7},
    {64, 256, 4, 2, 1.40, 3.6},
    {64, 256, 8, 1, 1.45, 3.6},
    {128, 256, 8, 1, 2.34, 6.5},
};
// A split writes its sums and reads them again: so long for 64 x 128 of them, and once to meet.
constexpr double kSumsUs = 3.2;
constexpr double kMeetUs = 2;

int stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    const GemmVariant& v) {
  if (tiles_sizes(layout, v).sum_bytes() > target.shared_per_block) return 0;
  return std::min(kMostStages,
                  target.shared_per_block / tiles_config(spec, layout, v).stage_bytes());
}

// Sets split_k and returns microseconds.
double choose_split(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    const WideChoice& choice, GemmVariant& v) {
  const std::int64_t m = std::min(v.m_max, kOpenRangeTokens);
  const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(spec.shape.n, v.tile_n);
  const std::int64_t stages = tiles_sizes(layout, v).total_stages();
  // Of many tiles sums would fill gigabytes, and counters have an end.
  const bool splits = !is_open_range(v.m_max) && tiles <= kWorkspaceCounterBytes / 4;
  const double sums_us = kSumsUs * v.tile_m * v.tile_n / (64 * 128);
  double best = 0;
  for (int split = 1; split <= (splits ? kMostSplit : 1) && 2 * (split - 1) < stages; ++split) {
    const auto rounds = static_cast<double>(ceil_div(tiles * split, target.sm_count));
    const double block = static_cast<double>(ceil_div(stages, split)) * choice.stage_us +
                         choice.block_us + (split > 1 ? sums_us : 0);
    const double us = rounds * block + (split > 1 ? kMeetUs : 0);
    if (split > 1 && us >= best) continue;
    best = us;
    v.split_k = split;
  }
  return best;
}

}  // namespace

bool can_read_ahead(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  if (v.path != Path::kAmpere || v.stages < 2) return false;
  if (v.token_tiles() < kFewestTokenTiles) return false;
  const int tile_pairs = v.row_tiles() * v.token_tiles();
  if (v.row_tiles() < 2 || 4 * tile_pairs > kMostSums) return false;
  // A step of 16 columns is decoded at a time.
  const WeightSpec& weight = spec.weight;
  if ((weight.bits != 4 && weight.bits != 8) || weight.interleave == Interleave::kTrtllm) {
    return false;
  }
  if (weight.zero_point == ZeroPoint::kFloat) return false;
  if (choose_scale_mode(spec, layout, v) == ScaleMode::kAccumulator) return false;
  // Every thread copies as much of the tokens, every warp of the weights, in each turn.
  const int turns = v.stage_k / v.warps_k / 64;
  if (turns == 0) return false;  // refuse_tile() says why
  const int units = v.stage_k / 8;
  if (v.threads() % (8 * units) != 0 || v.tile_m % (v.threads() / units * turns) != 0) return false;
  return v.tile_n / WeightLayout::kRowBlock % (v.threads() / 32 * turns) == 0;
}

std::optional<GemmVariant> wide_tile(const GemmSpec& spec, const Target& target,
                                     const WeightLayout& layout, Path path, std::int64_t m_min,
                                     std::int64_t m_max) {
  if (m_max < kFewestTokens || sets_any(spec.tile)) return std::nullopt;
  std::optional<GemmVariant> best;
  double best_us = 0;
  for (const WideChoice& choice : kChoices) {
    GemmVariant v;
    v.m_min = m_min;
    v.m_max = m_max;
    v.path = path;
    v.tile_m = choice.tile_m;
    v.tile_n = choice.tile_n;
    v.stage_k = WeightLayout::kChunkK;
    v.warps_n = choice.warps_n;
    v.warps_k = choice.warps_k;
    v.stages = stages_that_fit(spec, target, layout, v);
    if (v.stages < kFewestStages || !can_read_ahead(spec, layout, v)) continue;
    const double us = choose_split(spec, target, layout, choice, v);
    if (best && us >= best_us) continue;
    best = v;
    best_us = us;
  }
  if (!best) return best;
  best->reads_ahead = true;
  settle_scale(spec, layout, *best);
  best->shared_bytes = tiles_config(spec, layout, *best).shared_bytes();
  return best;
}

}  // namespace heddle
