#include "generator/planner/wgmma_shares.h"

#include <algorithm>
#include <limits>

#include "generator/planner/default_tile.h"
#include "generator/planner/stage.h"
#include "generator/planner/wgmma_stage.h"

namespace heddle {
namespace {

// Of rows that blocks take together.
std::int64_t row_sets_of(const GemmVariant& v, const WeightLayout& layout) {
  return ceil_div(layout.row_blocks * WeightLayout::kRowBlock,
                  warpgroup_sizes(layout, v).set_row_tiles() * kWgmmaRowTile);
}

std::int64_t stages_of_k(const GemmVariant& v, const WeightLayout& layout) {
  return ceil_div(layout.chunks_per_row_block, v.stage_chunks);
}

// Clocks of an SM of an H200 at 1965 MHz, fitted to docs/measurements/wgmma.md and
// many-tokens.md.
//
// From M = 129 on. Tokens that a pair reads once count half; with two stages there is the way there
// and back; the GPU is at its limit of power, where a product in a small tile takes longer.
double stage_clocks_of_many(const GemmVariant& v, const WeightLayout& layout, bool in_step) {
  constexpr double kDecode = 185, kDecodeToken = 3, kWay = 700, kWayBytes = 48;
  constexpr double kTokenBytes = 23.5, kManyTokenBytes = 28.5;  // a clock, with weights beside them
  const double multiply = 4 * (v.tile_m > 128 ? 1.095 : 1.15);
  const double unit = std::max(kDecode + kDecodeToken * v.tile_m, multiply * v.tile_m);
  const bool is_small = v.tile_m * v.tile_n < 256 * 128;
  const double cache = !in_step || is_small ? 28 : 31;  // bytes a clock
  const int token_bytes = 2 * WeightLayout::kChunkK * v.stage_chunks * v.tile_m / v.cluster;
  const int row_blocks = v.tile_n / WeightLayout::kRowBlock;
  double read = (v.stage_chunks * row_blocks * layout.chunk_bytes + token_bytes) / cache;
  // Weights come beside the tokens of these: twice their bytes take no longer. Up to 192 tokens,
  // where tiles of 96 compete, both tiles of 128 are reckoned alike: too slow.
  const bool beside = v.tile_m == 128 && v.tile_n == 128 && v.m_min > 2 * 96;
  if (in_step && beside) read = token_bytes / kTokenBytes;
  if (in_step && v.tile_m == 256) read = token_bytes / kManyTokenBytes;
  const double clocks = std::max(v.stage_chunks * v.tile_n / 64.0 * unit, read);
  if (v.stages * v.stage_k > 2 * v.stage_chunks * WeightLayout::kChunkK) return clocks;
  return std::max(clocks, kWay + warpgroup_sizes(layout, v).stage_bytes() / kWayBytes);
}
bool has_many_tokens(const GemmVariant& v) { return v.m_min > 128; }

// A stage: decoding, which wgmma with weights in registers holds up, or wgmma, both slower where
// two warpgroups share 64 rows and faster where four multiply; the L2 cache, which is slower where
// blocks read tokens of different columns.
double stage_clocks(const GemmVariant& v, const WeightLayout& layout, bool in_step) {
  if (has_many_tokens(v)) return stage_clocks_of_many(v, layout, in_step);
  constexpr double kDecode = 160, kDecodeToken = 3.4, kMultiplyToken = 1.22 * 4;
  constexpr double kSharedRows = 1.23, kSharedRowsOfFew = 1.05, kFour = 0.945;
  constexpr int kFewTokens = 32;
  const double cache = in_step ? 54 : 44;  // bytes a clock
  double unit = std::max(kDecode + kDecodeToken * v.tile_m, kMultiplyToken * v.tile_m);
  if (v.tile_n == 64) unit *= v.tile_m <= kFewTokens ? kSharedRowsOfFew : kSharedRows;
  if (wgmma_has_four(v)) unit *= kFour;
  return std::max(v.stage_chunks * v.tile_n / 64.0 * unit,
                  warpgroup_sizes(layout, v).stage_bytes() / cache);
}
// Of a tile that is cut in two along its tokens, which many have.
double cut_stage_clocks(const GemmVariant& v, const WeightLayout& layout) {
  GemmVariant half = v;
  half.tile_m /= 2;
  const double clocks = std::max(stage_clocks_of_many(half, layout, true), 1440.0);
  return v.cluster > 1 ? clocks : 1.1 * clocks;
}
// From the last sums of a tile to the next tile; elsewhere where there are few tokens.
double tile_clocks(const GemmVariant& v) {
  return has_many_tokens(v) ? 0.07 * v.tile_m * v.tile_n : 0;
}
double launch_clocks(const GemmVariant& v) { return v.cluster > 1 ? 6000 : 0; }
// To share a tile: the steps of the exchange one after the other, then the sums of one SM.
double tile_bytes(const GemmVariant& v) { return 4.0 * v.tile_m * v.tile_n; }
// From M = 129 on this and equal shares cost what they did when those tiles were fitted, before
// pairs stored into each other's memory.
double cluster_clocks(const GemmVariant& v) {
  return (has_many_tokens(v) ? 1440 : 600) + tile_bytes(v) / 51;
}
double sum_clocks(const GemmVariant& v) { return tile_bytes(v) / (wgmma_narrows(v) ? 12 : 30); }
double parts_clocks(const GemmVariant& v, std::int64_t parts) {
  constexpr double kBlock = 1100, kMostBlocks = 4;  // of more blocks the steps overlap
  const double blocks = static_cast<double>(parts);
  return kBlock * std::min(blocks, kMostBlocks) + blocks * sum_clocks(v);
}
// The blocks of a tile, of which the first and the last may have sums of others, too.
double equal_clocks(const GemmVariant& v, double blocks) {
  if (has_many_tokens(v)) return 4500 + tile_bytes(v) / 5;
  return (v.by_warps ? 7100 : 5500) + (blocks + 2) * sum_clocks(v);
}

// Where whole tiles follow, only the block's own sums are in the way, and blocks are out of step.
double first_clocks(const GemmVariant& v) { return 2000 + 2 * sum_clocks(v); }
double out_of_step(const GemmVariant& v) { return v.tile_m > 32 ? 1.04 : 1; }
// Beside them a warpgroup adds, at worst for both tiles of its block.
double adding_clocks(const GemmVariant& v, double blocks) {
  constexpr double kBytes = 16;  // a clock, while others read tokens
  return 2 * (blocks + 1) * tile_bytes(v) / kBytes;
}

// With the time that memory takes for all weights: the two hinder each other a little.
double beside_memory(const GemmVariant& v, const WeightLayout& layout, double clocks) {
  constexpr double kBytes = 17.3;  // a clock of an SM
  const double hindrance = has_many_tokens(v) ? 0.15 : 0.25;
  const double memory = static_cast<double>(layout.total_bytes) / (v.workers * kBytes);
  return std::max(clocks, memory) + hindrance * std::min(clocks, memory);
}

// More SMs at the limit of power, which read tokens of different columns.
constexpr double kManyInParts = 1.2;

struct Choice {
  WgmmaShares shares;
  double clocks = 0;  // of the SM that works longest
};

// Pairs of blocks with a row tile in common: of that a block has half of the stages, and in the
// others of 128 rows one of its warpgroups has nothing to do.
Choice pairs_with_shared_rows(const GemmVariant& v, const WeightLayout& layout) {
  constexpr double kIdle = 1.1;
  const double idle = v.tile_n == 2 * kWgmmaRowTile ? kIdle : 1;
  const std::int64_t sets = row_sets_of(v, layout);
  const std::int64_t pairs = v.workers / kWgmmaCluster;
  const double of_block =
      warpgroup_sizes(layout, v).set_row_tiles() * kWgmmaRowTile / (2.0 * v.tile_n);
  GemmVariant shared = v;  // the row tile whose sums they exchange
  shared.tile_n = kWgmmaRowTile;
  const double round = idle * of_block * static_cast<double>(stages_of_k(v, layout)) *
                           stage_clocks(v, layout, true) +
                       cluster_clocks(shared);
  const double clocks = static_cast<double>(ceil_div(sets, pairs)) * round;
  return {{static_cast<int>(kWgmmaCluster * std::min(sets, pairs)), 0, kWgmmaCluster},
          beside_memory(v, layout, clocks)};
}

// Every block an equal share of the tiles that are left over, then whole ones.
Choice shares_before_tiles(const GemmVariant& v, const WeightLayout& layout) {
  const std::int64_t tiles = row_sets_of(v, layout);
  const std::int64_t stages = stages_of_k(v, layout);
  const std::int64_t whole = tiles / v.workers * stages;
  const std::int64_t left = tiles % v.workers;
  if (whole == 0 || left * stages < v.workers) return {{}, std::numeric_limits<double>::infinity()};
  const double shared =
      static_cast<double>(ceil_div(left * stages, v.workers)) * stage_clocks(v, layout, false);
  const double tile = static_cast<double>(whole) * stage_clocks(v, layout, true);
  const double adding =
      adding_clocks(v, static_cast<double>(v.workers) / static_cast<double>(left));
  const double clocks = first_clocks(v) + out_of_step(v) * (shared + std::max(tile, adding));
  return {{v.workers, static_cast<int>(left), 1}, beside_memory(v, layout, clocks)};
}

Choice choose_shares(const GemmVariant& v, const WeightLayout& layout, std::int64_t m) {
  if (v.shares_rows) return pairs_with_shared_rows(v, layout);
  if (v.shares_first) return shares_before_tiles(v, layout);
  // Blocks that share tokens work on neighbouring tiles: all are counted in clusters.
  const std::int64_t row_sets = row_sets_of(v, layout);
  const std::int64_t token_tiles = ceil_div(m, v.tile_m);
  const std::int64_t tiles = row_sets * token_tiles;
  const std::int64_t stages = stages_of_k(v, layout);
  const std::int64_t workers = v.workers / v.cluster;
  const std::int64_t left = tiles % workers;
  const std::int64_t whole = tiles / workers * stages;
  const auto clocks_of = [&](std::int64_t in_step, std::int64_t apart) {
    const double clocks = static_cast<double>(in_step) * stage_clocks(v, layout, true) +
                          static_cast<double>(apart) * stage_clocks(v, layout, false) +
                          static_cast<double>(ceil_div(tiles, workers)) * tile_clocks(v);
    return beside_memory(v, layout, clocks) + launch_clocks(v);
  };
  const auto count = [&](std::int64_t clusters) { return static_cast<int>(clusters * v.cluster); };

  // Tiles of the last tokens may be narrow from the beginning. Narrow ones come behind the others.
  const bool ends_narrow =
      wgmma_narrows(v) && token_tiles > 1 && m - (token_tiles - 1) * v.tile_m <= v.tile_m / 2;
  const std::int64_t wide = ends_narrow ? tiles - row_sets : tiles;
  const auto with_cut = [&](std::int64_t cut) -> Choice {
    const std::int64_t all = tiles + cut;
    // The block that works longest is the first, or the first with a wide tile less.
    const auto clocks_at = [&](std::int64_t worker) {
      const std::int64_t own_wide = ceil_div(wide - cut - worker, workers);
      const std::int64_t own_narrow = ceil_div(all - worker, workers) - own_wide;
      const double narrow = own_narrow > 0 ? cut_stage_clocks(v, layout) : 0;
      return clocks_of(own_wide * stages, 0) + static_cast<double>(own_narrow * stages) * narrow;
    };
    return {{count(std::min(all, workers)), -static_cast<int>(cut), v.cluster},
            std::max(clocks_at(0), clocks_at((wide - cut) % workers))};
  };

  Choice best = with_cut(0);
  const auto consider = [&best](const Choice& choice) {
    if (choice.clocks < best.clocks) best = choice;
  };
  if (wgmma_narrows(v) && wide % workers > 0) consider(with_cut(wide % workers));
  if (!v.shares_tiles || left == 0) return best;
  const double slower = has_many_tokens(v) ? kManyInParts : 1;
  if (wgmma_may_pair(v, layout) && tiles * kWgmmaCluster <= workers && stages >= kWgmmaCluster) {
    consider({{count(tiles * kWgmmaCluster), count(tiles), kWgmmaCluster, true},
              slower * clocks_of(ceil_div(stages, kWgmmaCluster), 0) + cluster_clocks(v)});
  }
  // Each tile of the last wave to the same number of blocks, or all of them in equal shares.
  for (std::int64_t parts = 2; tiles < workers && parts <= std::min(workers / tiles, stages);
       ++parts) {
    consider({{count(tiles * parts), static_cast<int>(tiles), v.cluster},
              slower * clocks_of(ceil_div(stages, parts), 0) + parts_clocks(v, parts)});
  }
  if (left * stages >= workers) {
    // A block may end one tile and begin another.
    consider({{count(workers), static_cast<int>(left), v.cluster},
              clocks_of(whole, ceil_div(left * stages, workers)) +
                  equal_clocks(v, static_cast<double>(workers) / static_cast<double>(left))});
  }
  return best;
}

}  // namespace

bool wgmma_may_pair(const GemmVariant& v, const WeightLayout& layout) {
  // ptxas keeps addresses out of uniform registers there: 16384 x 8192, M = 32 took 22.8 us,
  // not 20.9.
  if (wgmma_has_four(v) && v.tile_m > 16) return false;
  return v.shares_tiles && !v.shares_first && v.cluster == 1 && !wgmma_narrows(v) &&
         2 * v.tile_m * v.tile_n <= v.stages * warpgroup_sizes(layout, v).stage_bytes();
}

double wgmma_clocks(const GemmVariant& v, const WeightLayout& layout) {
  return choose_shares(v, layout, std::min(v.m_max, kOpenRangeTokens)).clocks;
}

WgmmaShares wgmma_shares(const GemmVariant& variant, const WeightLayout& layout, std::int64_t m) {
  return choose_shares(variant, layout, m).shares;
}

}  // namespace heddle
