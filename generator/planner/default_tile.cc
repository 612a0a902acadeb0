#include "generator/planner/default_tile.h"

#include <algorithm>

#include "generator/families/tiles/config.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"
#include "generator/planner/wide_tile.h"

namespace heddle {
namespace {

constexpr int kMaxStages = 4;

struct TileChoice {
  std::int64_t up_to_m;
  int tile_m, tile_n, stage_k, warps_m, warps_n, warps_k;
};

// Up to 16 tokens the weights are the only traffic that matters: long stages of few rows, K over
// many warps. From there on, activations are reused over more rows. The best of those that were
// measured on an H200; see docs/measurements/tiles.md.
constexpr TileChoice kChoices[] = {
    {8, 8, 64, 512, 1, 1, 8},    {16, 16, 64, 512, 1, 2, 4},    {32, 32, 128, 256, 1, 2, 4},
    {64, 64, 128, 128, 1, 4, 2}, {128, 128, 128, 128, 2, 4, 1},
};

void apply(const TileChoice& choice, GemmVariant& v) {
  v.tile_m = choice.tile_m;
  v.tile_n = choice.tile_n;
  v.stage_k = choice.stage_k;
  v.warps_m = choice.warps_m;
  v.warps_n = choice.warps_n;
  v.warps_k = choice.warps_k;
}

void apply_user(const TileSpec& tile, GemmVariant& v) {
  v.tile_m = tile.m.value_or(v.tile_m);
  v.tile_n = tile.n.value_or(v.tile_n);
  v.stage_k = tile.k.value_or(v.stage_k);
  v.warps_m = tile.warps_m.value_or(v.warps_m);
  v.warps_n = tile.warps_n.value_or(v.warps_n);
  v.warps_k = tile.warps_k.value_or(v.warps_k);
}

// The most stages, up to kMaxStages, that leave room for blocks_per_sm blocks; below two: none fit.
int stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    const GemmVariant& v) {
  const int per_block = std::min(target.shared_per_block,
                                 target.shared_per_sm / v.blocks_per_sm - kReservedSharedBytes);
  if (tiles_sizes(layout, v).sum_bytes() > per_block) return 0;
  return std::min(kMaxStages, per_block / tiles_config(spec, layout, v).stage_bytes());
}

int wanted_stages(Path path) { return path == Path::kTuring ? 2 : 3; }

// One step towards less shared memory; false if there is none.
bool shrink(const TileSpec& user, GemmVariant& v) {
  if (v.blocks_per_sm > 1) {
    v.blocks_per_sm = 1;
  } else if (v.stage_k > 128 && !user.k && !user.warps_k) {
    v.stage_k /= 2;
    v.warps_k = std::min(v.warps_k, v.stage_k / 64);
  } else if (v.tile_m > 32 && !user.m && !user.warps_m) {
    v.tile_m /= 2;
  } else if (v.warps_k > 1 && !user.warps_k && !user.warps_n) {
    // Fewer planes of sums in the epilogue.
    v.warps_k /= 2;
    if (v.row_tiles() % 2 == 0) v.warps_n *= 2;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const std::vector<std::int64_t>& m_range_ends() {
  static const std::vector<std::int64_t> ends{8,   16,  32,  64,  96,  128,
                                              160, 192, 256, 384, 512, INT64_MAX};
  return ends;
}

std::int64_t m_range_end(std::int64_t m) {
  const std::vector<std::int64_t>& ends = m_range_ends();
  return *std::lower_bound(ends.begin(), ends.end(), m);
}

bool is_open_range(std::int64_t m_max) { return m_max > m_range_ends().end()[-2]; }

bool sets_any(const TileSpec& tile) {
  return tile.m || tile.n || tile.k || tile.stages || tile.split_k || tile.warps_m ||
         tile.warps_n || tile.warps_k;
}

GemmVariant default_tile(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                         Path path, std::int64_t m_min, std::int64_t m_max) {
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = m_max;
  v.path = path;
  const TileChoice* choice = std::begin(kChoices);
  while (choice + 1 != std::end(kChoices) && choice->up_to_m < m_max) ++choice;
  apply(*choice, v);
  if (spec.weight.bits > 4 && v.stage_k > 128) {
    // Wide codes: stages of as many bytes, with the warps along N instead of K.
    v.stage_k /= 2;
    v.warps_k /= 2;
    if (v.row_tiles() % 2 == 0) v.warps_n *= 2;
  }
  apply_user(spec.tile, v);
  // Each of them takes runs of 64 columns.
  if (spec.tile.k && !spec.tile.warps_k) v.warps_k = std::clamp(v.stage_k / 64, 1, v.warps_k);
  if (choose_scale_mode(spec, layout, v) == ScaleMode::kAccumulator && !spec.tile.m &&
      !spec.tile.warps_m) {
    while (!has_room_for_partial_sums(v) && v.token_tiles() % 2 == 0) v.tile_m /= 2;
  }
  // Two blocks to an SM leave each of 256 threads 128 registers: enough for small tiles, unless the
  // next stage is held in registers, too.
  const bool small = v.threads() <= 256 && v.row_tiles() * v.token_tiles() <= 4;
  v.blocks_per_sm = small && path != Path::kTuring ? 2 : 1;
  const bool legal = v.stage_k >= 128 && v.stage_k % 128 == 0;
  const int wanted = spec.tile.stages.value_or(wanted_stages(path));
  while (legal && stages_that_fit(spec, target, layout, v) < wanted && shrink(spec.tile, v)) {
  }
  const int fit = legal ? stages_that_fit(spec, target, layout, v) : wanted;
  v.stages = spec.tile.stages.value_or(path == Path::kTuring ? 2 : std::max(2, fit));
  v.reads_ahead = can_read_ahead(spec, layout, v);
  settle_scale(spec, layout, v);
  v.shared_bytes = tiles_config(spec, layout, v).shared_bytes();
  return v;
}

int choose_split_k(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                   const GemmVariant& v) {
  // Beyond the last closed range there are tiles enough, and sums would fill gigabytes.
  if (is_open_range(v.m_max)) return 1;
  const std::int64_t tiles = ceil_div(v.m_min, v.tile_m) * ceil_div(spec.shape.n, v.tile_n);
  const std::int64_t stages = tiles_sizes(layout, v).total_stages();
  // In units of one stage's time. Every SM works through its blocks; a block costs about one and a
  // half stages to start and to end. A split writes its sums and reads them again, and waits for
  // the others.
  constexpr double kBlockCost = 1.5, kSplitCost = 2.0;
  const double sums_cost =
      2.0 * 4 * v.tile_m * v.tile_n / tiles_config(spec, layout, v).stage_bytes();
  int best = 1;
  double best_cost = 0;
  for (int split = 1; split <= 16 && (split == 1 || split * 2 <= stages); ++split) {
    const double blocks_of_one_sm = static_cast<double>(ceil_div(tiles * split, target.sm_count));
    const double block =
        static_cast<double>(ceil_div(stages, split)) + kBlockCost + (split > 1 ? sums_cost : 0);
    const double cost = blocks_of_one_sm * block + (split > 1 ? kSplitCost : 0);
    if (split == 1 || cost < best_cost) {
      best = split;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace heddle
