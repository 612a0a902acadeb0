#include "generator/families/warpgroup/shares.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/cost.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

// Tiles of the rows, or of those of a cluster.
std::int64_t row_sets_of(const WarpgroupKernel& c) {
  return ceil_div(std::int64_t{c.shape.row_blocks} * device::Chunk::kRows, c.cluster_rows());
}

bool has_places_for_pairs(const WarpgroupKernel& c, std::int64_t tiles) {
  return tiles * kWgmmaCluster <= c.workers && c.total_units() >= kWgmmaCluster;
}

// Launches with as many tiles of tokens are alike, as size_step() of the family says: by the most
// tokens that they can have.
std::int64_t most_tokens(const WarpgroupKernel& c, std::int64_t m) {
  return std::min<std::int64_t>(ceil_div(m, c.tile_m) * c.tile_m, c.tokens);
}

// The parameters' own values.
Costs own_costs() {
  static const std::vector<double> costs = values_of(warpgroup_cost_parameters());
  return costs;
}

// How the blocks of a launch share tiles.
struct Way {
  enum Kind {
    kAlone,      // not at all
    kPairs,      // each tile by a pair, which is a cluster
    kParts,      // each tile by as many blocks, by way of the workspace
    kAllBlocks,  // those of the last wave by all blocks in equal shares, by way of the workspace
  };
  Kind kind = kAlone;
  std::int64_t parts = 1;  // kParts: blocks of a tile
};

// The ways of one kernel at one number of tokens. Blocks that share tokens work on neighbouring
// tiles: all are counted in clusters.
class Ways {
 public:
  Ways(const GemmRequest& plan, const WarpgroupKernel& c, std::int64_t m, Costs costs)
      : c_(c),
        clocks_(plan, c, most_tokens(c, m), costs),
        tile_stages_(c.total_units()),
        stage_clocks_(clocks_.stage()),
        finding_clocks_(clocks_.finding()),
        row_sets_(row_sets_of(c)),
        token_tiles_(ceil_div(most_tokens(c, m), c.tile_m)),
        tiles_(row_sets_ * token_tiles_),
        workers_(c.workers / c.cluster) {}

  // A kernel whose tiles have all tokens is made for one of pairs, the workspace, and neither.
  Way fastest() const {
    const bool one_way = c_.has_one_token_tile();
    if (!c_.shares_tiles()) return {};
    if (one_way && c_.shares_in_pairs()) return {Way::kPairs};
    Way best;
    double least =
        one_way && may_use_workspace() ? std::numeric_limits<double>::infinity() : clocks(best);
    const auto consider = [&](const Way& way) {
      const double needed = clocks(way);
      if (needed >= least) return;
      least = needed;
      best = way;
    };
    for (std::int64_t parts = 2; parts <= most_parts(); ++parts) consider({Way::kParts, parts});
    if (all_blocks_may_share()) consider({Way::kAllBlocks});
    const bool may_pair = c_.shares_in_pairs() && left() != 0 && has_places_for_pairs(c_, tiles_);
    if (may_pair) consider({Way::kPairs});
    return best;
  }

  bool may_use_workspace() const { return most_parts() > 1 || all_blocks_may_share(); }

  WgmmaShares shares(const Way& way) const {
    const auto tiles = static_cast<int>(tiles_);
    switch (way.kind) {
      case Way::kAlone:
        return {blocks(std::min(tiles_, workers_)), 0, c_.cluster};
      case Way::kPairs:
        return {tiles * kWgmmaCluster, tiles, kWgmmaCluster, true};
      case Way::kParts:
        return {blocks(tiles_ * way.parts), tiles, c_.cluster};
      case Way::kAllBlocks:
        break;
    }
    return {blocks(workers_), static_cast<int>(left()), c_.cluster};
  }

  // Clocks of the SM that works longest.
  double clocks(const Way& way) const {
    switch (way.kind) {
      case Way::kAlone:
        return clocks_of(ceil_div(tiles_, workers_) * tile_stages_) +
               finding(ceil_div(tiles_, workers_));
      case Way::kPairs:
        return clocks_of(ceil_div(tile_stages_, kWgmmaCluster)) + clocks_.pair_exchange() +
               finding(1) / kWgmmaCluster;
      case Way::kParts:
        return clocks_of(ceil_div(tile_stages_, way.parts)) +
               clocks_.exchange(static_cast<double>(way.parts)) + finding(1);
      case Way::kAllBlocks:
        break;
    }
    const double blocks_of_tile = static_cast<double>(workers_) / static_cast<double>(left());
    const double last_wave = std::max(clocks_of(ceil_div(left() * tile_stages_, workers_)),
                                      clocks_.reading_tokens_apart(left(), tokens_left()));
    return clocks_of(tiles_ / workers_ * tile_stages_) + last_wave +
           clocks_.late_exchange(blocks_of_tile) + finding(tiles_ / workers_ + 1);
  }

 private:
  // Tiles of the last wave.
  std::int64_t left() const { return tiles_ % workers_; }
  std::int64_t most_parts() const {
    return tiles_ < workers_ ? std::min(workers_ / tiles_, tile_stages_) : 1;
  }
  bool all_blocks_may_share() const { return left() != 0 && left() * tile_stages_ >= workers_; }

  // The tokens of the last wave's tiles. In a band (templates/schedule/tile_order.cuh) all tiles of
  // tokens come before the next rows.
  std::int64_t tokens_left() const {
    const std::int64_t band = std::max<std::int64_t>(WarpgroupConfig::kBandTokens / c_.tile_m, 1);
    const std::int64_t last_band = (token_tiles_ - 1) % band + 1;
    const std::int64_t before = left() - last_band * row_sets_;
    if (before <= 0) return std::min(left(), last_band) * c_.tile_m;
    const std::int64_t of_band = band * row_sets_;
    return (last_band + before / of_band * band + std::min(before % of_band, band)) * c_.tile_m;
  }

  int blocks(std::int64_t clusters) const { return static_cast<int>(clusters * c_.cluster); }
  // Clocks to find the scales of the outputs of so many tiles.
  double finding(std::int64_t tiles) const { return static_cast<double>(tiles) * finding_clocks_; }
  double clocks_of(std::int64_t stages) const {
    return static_cast<double>(stages) * stage_clocks_;
  }

  const WarpgroupKernel& c_;
  const WgmmaClocks clocks_;
  const std::int64_t tile_stages_;
  const double stage_clocks_;
  const double finding_clocks_;
  const std::int64_t row_sets_;
  const std::int64_t token_tiles_;
  const std::int64_t tiles_;
  const std::int64_t workers_;
};

}  // namespace

bool wgmma_may_pair(const WarpgroupConfig& c) {
  // With more tokens ptxas keeps the addresses of four warpgroups out of uniform registers, which
  // makes every stage longer.
  if (c.has_four() && c.tile_m > 16) return false;
  return c.shares_tiles() && c.cluster == 1 && !c.has_many_tokens() &&
         2 * c.tile_m * c.tile_n <= c.stages * c.stage_bytes();
}

bool wgmma_has_places_for_pairs(const WarpgroupKernel& c) {
  return c.shares_in_pairs() && has_places_for_pairs(c, row_sets_of(c));
}

bool wgmma_has_parts(const GemmRequest& plan, const WarpgroupKernel& c) {
  return Ways(plan, c, c.tokens, own_costs()).may_use_workspace();
}

WgmmaShares wgmma_shares(const GemmRequest& plan, const WarpgroupKernel& c, std::int64_t m) {
  const Ways ways(plan, c, m, own_costs());
  return ways.shares(ways.fastest());
}

double wgmma_shares_clocks(const GemmRequest& plan, const WarpgroupKernel& c, std::int64_t m,
                           Costs costs) {
  return Ways(plan, c, m, costs).clocks(Ways(plan, c, m, own_costs()).fastest());
}

}  // namespace heddle
