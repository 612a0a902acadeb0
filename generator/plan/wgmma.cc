#include "generator/plan/wgmma.h"

#include <algorithm>

#include "generator/plan/default_tile.h"
#include "generator/plan/refuse.h"
#include "generator/plan/stage.h"

namespace heddle {
namespace {

constexpr std::int64_t kFewestTokens = 9;   // below, streams and tiles waste less
constexpr std::int64_t kManyTokens = 4096;  // what an open range is planned for
constexpr int kWarpgroups = 2;              // that multiply
constexpr int kMostStages = 8;
constexpr int kStepTiles = 4;
constexpr int kDecodedSets = 2;
constexpr int kPassRow = 64 + 4;  // floats, as in templates/gemm/wgmma_shape.cuh

int wgmma_stage_bytes(const GemmVariant& v, const WeightLayout& layout) {
  return v.tile_n / WeightLayout::kRowBlock * layout.chunk_bytes +
         v.tile_m * 2 * WeightLayout::kChunkK;
}

// The same arithmetic as templates/gemm/wgmma_shape.cuh, which checks the result.
int wgmma_shared_bytes(const GemmVariant& v, const WeightLayout& layout) {
  const int pass_tokens = std::min(v.tile_m, v.tile_m > 128 ? 16 : 32);
  return v.stages * wgmma_stage_bytes(v, layout) + kWarpgroups * 4 * pass_tokens * kPassRow +
         2 * v.stages * 8 + 8;
}

// Clocks of an SM of an H200 at 1980 MHz for a stage: as measured, the time of the memory and that
// of the tensor cores add up, and the L2 cache sets a floor. See docs/measurements.md.
double stage_clocks(const GemmVariant& v, const WeightLayout& layout) {
  constexpr double kMemory = 20, kCache = 25;  // bytes a clock
  const double weights = v.tile_n / 16.0 * layout.chunk_bytes;
  const double tensor = v.tile_n / 64.0 * 8 * v.tile_m / 2;
  return std::max(weights / kMemory + tensor, wgmma_stage_bytes(v, layout) / kCache);
}

// To share a tile: the round trips of the exchange, then the sums of all parts through one SM.
double share_clocks(const GemmVariant& v, std::int64_t parts) {
  constexpr double kExchange = 3600, kRead = 30;  // bytes a clock
  return kExchange + static_cast<double>(parts) * 4 * v.tile_m * v.tile_n / kRead;
}

struct Choice {
  WgmmaShares shares;
  double clocks = 0;  // of the SM that works longest
};

Choice choose_shares(const GemmVariant& v, const WeightLayout& layout, std::int64_t m) {
  const std::int64_t rows = layout.row_blocks * WeightLayout::kRowBlock;
  const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(rows, v.tile_n);
  const std::int64_t stages = layout.chunks_per_row_block;
  const std::int64_t workers = v.workers;
  const double stage = stage_clocks(v, layout);
  const std::int64_t left = tiles % workers;
  const auto clocks = [&](std::int64_t k_stages) {
    const std::int64_t whole = tiles / workers * stages;
    return static_cast<double>(whole + k_stages) * stage;
  };
  const auto count = [](std::int64_t value) { return static_cast<int>(value); };

  Choice best{{count(std::min(tiles, workers)), 0}, clocks(left > 0 ? stages : 0)};
  if (!v.shares_tiles || left == 0) return best;
  const auto consider = [&best](const Choice& choice) {
    if (choice.clocks < best.clocks) best = choice;
  };
  // Each tile of the last wave to the same number of blocks, or all of them in equal shares.
  const std::int64_t parts = std::min(workers / left, stages);
  if (tiles < workers && parts > 1) {
    consider({{count(tiles * parts), count(tiles)},
              clocks(ceil_div(stages, parts)) + share_clocks(v, parts)});
  }
  if (left * stages >= workers) {
    // A block may end one tile and begin another.
    consider({{count(workers), count(left)},
              clocks(ceil_div(left * stages, workers)) + 2 * share_clocks(v, parts + 1)});
  }
  return best;
}

int tile_tokens(std::int64_t m_max) {
  for (const int tokens : {16, 32, 64}) {
    if (m_max <= tokens) return tokens;
  }
  return 128;
}

// As many as fit.
int stages_that_fit(const Target& target, const WeightLayout& layout, GemmVariant v) {
  for (v.stages = kMostStages; v.stages > 1; --v.stages) {
    if (wgmma_shared_bytes(v, layout) <= target.shared_per_block) break;
  }
  return v.stages;
}

void complete(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
              GemmVariant& v) {
  v.scale_mode = choose_scale_mode(spec, layout, v);
  v.fold_power = folds_power(spec, v.scale_mode);
  v.stages = spec.tile.stages.value_or(stages_that_fit(target, layout, v));
  v.shared_bytes = wgmma_shared_bytes(v, layout);
}

}  // namespace

bool wgmma_serves(const GemmSpec& spec, const Target& target, std::int64_t m_min) {
  // Other architectures have other instructions. Factors of the columns of X would have to meet the
  // tokens after the tensor copy, float zero points the sums of the tokens.
  if (target.arch() != 90 || spec.weight.zero_point == ZeroPoint::kFloat) return false;
  if (spec.pre_scale && !spec.act_order) return false;
  if (m_min < kFewestTokens) return false;
  if (spec.path == Path::kHopper) return true;
  // A tile of the user's is one of mma.sync, unless the path says otherwise.
  return spec.path == Path::kAuto && !sets_any(spec.tile);
}

GemmVariant wgmma_variant(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          std::int64_t m_min, std::int64_t m_max) {
  GemmVariant v;
  v.kernel = GemmKernel::kWgmma;
  v.path = Path::kHopper;
  v.m_min = m_min;
  v.m_max = m_max;
  v.stage_k = WeightLayout::kChunkK;
  v.warps_n = 4 * kWarpgroups;
  v.workers = target.sm_count;
  v.shares_tiles = !spec.tile.split_k;
  v.step_tiles = kStepTiles;
  v.decoded_sets = kDecodedSets;
  v.tile_m = spec.tile.m.value_or(tile_tokens(m_max));
  v.tile_n = spec.tile.n.value_or(256);
  complete(spec, target, layout, v);
  if (spec.tile.n) return v;
  GemmVariant narrow = v;
  narrow.tile_n = 128;
  complete(spec, target, layout, narrow);
  const std::int64_t m = std::min(m_max, kManyTokens);
  const bool too_large = sum_registers(v) > kMostWgmmaSums || v.stages < 2;
  if (too_large || choose_shares(narrow, layout, m).clocks < choose_shares(v, layout, m).clocks) {
    return narrow;
  }
  return v;
}

WgmmaShares wgmma_shares(const GemmVariant& variant, const WeightLayout& layout, std::int64_t m) {
  return choose_shares(variant, layout, m).shares;
}

std::size_t wgmma_partial_bytes(const GemmVariant& v) {
  if (!v.shares_tiles) return 0;
  // Two places for each block.
  return static_cast<std::size_t>(2 * 4) * v.workers * v.tile_m * v.tile_n;
}

}  // namespace heddle
