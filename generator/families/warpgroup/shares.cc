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
std::int64_t row_sets_of(const WarpgroupConfig& c) {
  return ceil_div(std::int64_t{c.weights.row_blocks} * device::Chunk::kRows, c.cluster_rows());
}

bool has_places_for_pairs(const WarpgroupConfig& c, std::int64_t tiles) {
  return tiles * kWgmmaCluster <= c.workers && c.total_units() >= kWgmmaCluster;
}

// Launches with as many tiles of tokens are alike, as size_step() of the family says: by the most
// tokens that they can have.
std::int64_t most_tokens(const WarpgroupConfig& c, std::int64_t m) {
  return std::min<std::int64_t>(ceil_div(m, c.tile_m) * c.tile_m, c.tokens);
}

// The parameters' own values.
Costs own_costs() {
  static const std::vector<double> costs = values_of(warpgroup_cost_parameters());
  return costs;
}

// The ways of one kernel to share its tiles, at one number of tokens. Blocks that share tokens work
// on neighbouring tiles: all are counted in clusters.
class Ways {
 public:
  Ways(const Plan& plan, const WarpgroupConfig& c, std::int64_t m, Costs costs)
      : c_(c),
        clocks_(plan, c, most_tokens(c, m), costs),
        stages_(c.total_units()),
        stage_(clocks_.stage()),
        token_tiles_(ceil_div(most_tokens(c, m), c.tile_m)),
        tiles_(row_sets_of(c) * token_tiles_),
        workers_(c.workers / c.cluster) {}

  // A kernel whose tiles have all tokens is made for one of pairs, parts, and none.
  TimedWgmmaShares fastest() const {
    const bool one_way = c_.has_one_token_tile();
    if (!c_.shares_tiles) return none();
    if (one_way && c_.shares_in_pairs) return pairs();
    const TimedWgmmaShares parts = fastest_parts();
    if (one_way && parts.shares.shared_tiles > 0) return parts;
    TimedWgmmaShares best = none();
    if (parts.clocks < best.clocks) best = parts;
    const bool may_pair = c_.shares_in_pairs && left() != 0 && has_places_for_pairs(c_, tiles_);
    if (may_pair && pairs().clocks < best.clocks) best = pairs();
    return best;
  }

  // By way of the workspace; with no shared tile, and endless, where no tile can be shared.
  TimedWgmmaShares fastest_parts() const {
    TimedWgmmaShares best{{}, std::numeric_limits<double>::infinity()};
    if (left() == 0) return best;
    const auto consider = [&best](const TimedWgmmaShares& one) {
      if (one.clocks < best.clocks) best = one;
    };
    // Each tile of the last wave to the same number of blocks, or all of them in equal shares.
    const std::int64_t most_parts = tiles_ < workers_ ? std::min(workers_ / tiles_, stages_) : 1;
    for (std::int64_t parts = 2; parts <= most_parts; ++parts) {
      consider({{blocks(tiles_ * parts), static_cast<int>(tiles_), c_.cluster},
                stages(ceil_div(stages_, parts)) + clocks_.exchange(static_cast<double>(parts))});
    }
    if (left() * stages_ >= workers_) {
      const double of_a_tile = static_cast<double>(workers_) / static_cast<double>(left());
      const std::int64_t whole = tiles_ / workers_ * stages_;
      consider({{blocks(workers_), static_cast<int>(left()), c_.cluster},
                stages(whole) +
                    std::max(stages(ceil_div(left() * stages_, workers_)),
                             clocks_.reading_tokens_apart(left(), tokens_left())) +
                    clocks_.late_exchange(of_a_tile)});
    }
    return best;
  }

 private:
  TimedWgmmaShares none() const {
    return {{blocks(std::min(tiles_, workers_)), 0, c_.cluster},
            stages(ceil_div(tiles_, workers_) * stages_)};
  }
  TimedWgmmaShares pairs() const {
    const auto count = static_cast<int>(tiles_);
    return {{count * kWgmmaCluster, count, kWgmmaCluster, true},
            stages(ceil_div(stages_, kWgmmaCluster)) + clocks_.pair_exchange()};
  }

  // Tiles of the last wave, and their tokens: schedule/tile_order.cuh walks all tiles of tokens of
  // a band, or of what is left of one, before the next rows.
  std::int64_t left() const { return tiles_ % workers_; }
  std::int64_t tokens_left() const {
    const std::int64_t band = std::max<std::int64_t>(WarpgroupConfig::kBandTokens / c_.tile_m, 1);
    const std::int64_t last_band = (token_tiles_ - 1) % band + 1;
    return std::min(left(), last_band) * c_.tile_m;
  }
  int blocks(std::int64_t clusters) const { return static_cast<int>(clusters * c_.cluster); }
  double stages(std::int64_t count) const { return static_cast<double>(count) * stage_; }

  const WarpgroupConfig& c_;
  const WgmmaClocks clocks_;
  const std::int64_t stages_;  // of a tile
  const double stage_;
  const std::int64_t token_tiles_;
  const std::int64_t tiles_;
  const std::int64_t workers_;
};

}  // namespace

bool wgmma_may_pair(const WarpgroupConfig& c) {
  // ptxas keeps addresses out of uniform registers there: 16384 x 8192, M = 32 took 22.8 us,
  // not 20.9.
  if (c.has_four() && c.tile_m > 16) return false;
  return c.shares_tiles && c.cluster == 1 && !c.has_many_tokens() &&
         2 * c.tile_m * c.tile_n <= c.stages * c.stage_bytes();
}

bool wgmma_has_places_for_pairs(const WarpgroupConfig& c) {
  return c.shares_in_pairs && has_places_for_pairs(c, row_sets_of(c));
}

bool wgmma_has_parts(const Plan& plan, const WarpgroupConfig& c) {
  return Ways(plan, c, c.tokens, own_costs()).fastest_parts().shares.shared_tiles > 0;
}

TimedWgmmaShares fastest_wgmma_shares(const Plan& plan, const WarpgroupConfig& c, std::int64_t m,
                                      Costs costs) {
  return Ways(plan, c, m, costs).fastest();
}

WgmmaShares wgmma_shares(const Plan& plan, const WarpgroupConfig& c, std::int64_t m) {
  return fastest_wgmma_shares(plan, c, m, own_costs()).shares;
}

}  // namespace heddle
