#include "generator/families/warpgroup/shares.h"

#include <algorithm>

#include "generator/families/configuration.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

constexpr int kRowTile = WarpgroupConfig::kRowTile;
// With weights from registers wgmma takes as long for fewer tokens.
constexpr int kFewestColumns = 32;

enum Cost {
  kStart,
  kStage,
  kIssue,
  kMultiply,
  kInTheWay,
  kSmBytes,
  kLatency,
  kExchange,
  kSumBytes,
  kOverlap,
};

struct Choice {
  WgmmaShares shares;
  double clocks = 0;  // of the SM that works longest
};

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

// One kernel at one number of tokens.
class Schedule {
 public:
  Schedule(const Plan& plan, const WarpgroupConfig& c, std::int64_t m, Costs costs)
      : plan_(plan),
        c_(c),
        m_(most_tokens(c, m)),
        costs_(costs),
        stages_(c.total_units()),
        row_sets_(row_sets_of(c)),
        stage_(stage_clocks()) {}

  Choice fastest() const {
    // A kernel that is made for pairs has no other way.
    return c_.shares_in_pairs && c_.has_one_token_tile() ? pairs(row_sets_) : fastest_of_all();
  }

 private:
  // Of tiles of all tokens, each of two blocks.
  Choice pairs(std::int64_t tiles) const {
    const auto count = static_cast<int>(tiles);
    return {
        {count * kWgmmaCluster, count, kWgmmaCluster, true},
        static_cast<double>(ceil_div(stages_, kWgmmaCluster)) * stage_ + pair_clocks(tile_bytes())};
  }

  // Blocks that share tokens work on neighbouring tiles: all are counted in clusters.
  Choice fastest_of_all() const {
    const std::int64_t token_tiles = ceil_div(m_, c_.tile_m);
    const std::int64_t tiles = row_sets_ * token_tiles;
    const std::int64_t workers = c_.workers / c_.cluster;
    const auto count = [&](std::int64_t sets) { return static_cast<int>(sets * c_.cluster); };
    const double of_tile = static_cast<double>(stages_) * stage_;
    const auto rounds = static_cast<double>(ceil_div(tiles, workers));
    Choice best{{count(std::min(tiles, workers)), 0, c_.cluster}, rounds * of_tile};
    const auto consider = [&best](const Choice& choice) {
      if (choice.clocks < best.clocks) best = choice;
    };
    const std::int64_t left = tiles % workers;
    if (!c_.shares_tiles || left == 0) return best;
    if (c_.shares_in_pairs && has_places_for_pairs(c_, tiles)) consider(pairs(tiles));
    // Each tile of the last wave to the same number of blocks, or all of them in equal shares.
    const std::int64_t most_parts = tiles < workers ? std::min(workers / tiles, stages_) : 1;
    for (std::int64_t parts = 2; parts <= most_parts; ++parts) {
      consider({{count(tiles * parts), static_cast<int>(tiles), c_.cluster},
                static_cast<double>(ceil_div(stages_, parts)) * stage_ +
                    exchange_clocks(static_cast<double>(parts))});
    }
    if (left * stages_ >= workers) {
      // A block may end one tile and begin another.
      const double blocks = static_cast<double>(workers) / static_cast<double>(left);
      const std::int64_t whole = tiles / workers;
      consider({{count(workers), static_cast<int>(left), c_.cluster},
                static_cast<double>(whole) * of_tile +
                    static_cast<double>(ceil_div(left * stages_, workers)) * stage_ +
                    exchange_clocks(blocks + 2)});
    }
    return best;
  }

  // Of 64 rows by 128 columns. Decoding and multiplying both need the registers and the warps'
  // attention: the longer of them hides only a part of the shorter.
  double unit_clocks() const {
    constexpr double kRowTiles = kRowTile / 16.0;
    const double decode =
        kRowTiles * decode_slots(plan_, c_.scaling.mode, c_.tile_m / 8.0) / costs_[kIssue];
    const double multiply = 1.0 * kRowTile * WeightLayout::kChunkK *
                            std::max(c_.tile_m, kFewestColumns) / costs_[kMultiply];
    const double in_the_way = costs_[kInTheWay] * std::min(decode, multiply);
    return std::max(decode, multiply) + in_the_way * 2 / c_.warpgroups;
  }

  // A stage, or both halves of a chunk: computing, or the copies of its weights and tokens.
  double stage_clocks() const {
    const double halves = c_.half_stages ? 2 : 1;
    const double units = c_.stage_chunks / halves * c_.tile_n / kRowTile;
    // Blocks that go through the same tokens at the same time get them for each other.
    const double readers = m_ <= c_.tile_m ? 2 : c_.cluster;
    const double tokens = c_.fits_box() && m_ < c_.tile_m ? static_cast<double>(m_) / c_.tile_m : 1;
    const double bytes = c_.weight_bytes() + tokens * c_.token_bytes() / readers;
    const double fetch = fetch_clocks(bytes, costs_[kSmBytes], costs_[kLatency], c_.stages,
                                      static_cast<double>(stages_) * halves);
    return halves * (side_by_side(units * unit_clocks(), fetch, costs_[kOverlap]) + costs_[kStage]);
  }

  double tile_bytes() const { return 4.0 * c_.tile_m * c_.tile_n; }
  double exchange_clocks(double blocks) const {
    return costs_[kExchange] + blocks * tile_bytes() / costs_[kSumBytes];
  }
  // In a cluster both steps are shorter.
  double pair_clocks(double bytes) const {
    return costs_[kExchange] / 3 + bytes / 2 / costs_[kSumBytes];
  }

  const Plan& plan_;
  const WarpgroupConfig& c_;
  const std::int64_t m_;
  const Costs costs_;
  const std::int64_t stages_;
  const std::int64_t row_sets_;
  const double stage_;
};

}  // namespace

const std::vector<CostParameter>& warpgroup_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2357},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 56.0},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.27},
      {"multiply", "products a clock", "that wgmma reaches on an SM", 1464},
      {"in_the_way", "fraction",
       "of decoding or multiplying, the shorter, that the other does not hide", 0.18},
      {"sm_bytes", "bytes a clock", "of weights and tokens that one SM can take", 52.1},
      {"latency", "clocks", "from the request of a stage to its arrival", 1028},
      {"exchange", "clocks", "for the blocks that share a tile to wait for each other", 5831},
      {"sum_bytes", "bytes a clock", "of sums that blocks add for each other", 54.9},
      {"overlap", "exponent", "how little computing and memory hinder each other", 3.26},
  };
  return parameters;
}

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

double warpgroup_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  const auto& c = config_of<WarpgroupConfig>(kernel);
  const GpuRates gpu(plan.target);
  const GemmSpec& spec = plan.spec.gemm();
  const double work = Schedule(plan, c, m, costs).fastest().clocks;
  const double copy_bytes = 1.0 * c.stage_chunks * c.weights.chunk_bytes;
  const double tokens = 2.0 * static_cast<double>(m * (spec.shape.k + spec.shape.n));
  const double memory =
      weight_clocks(plan, copy_bytes, gpu.memory_bytes) + tokens / gpu.memory_bytes;
  const double clocks = costs[kStart] + side_by_side(work, memory, costs[kOverlap]);
  return clocks / gpu.clocks_per_us;
}

WgmmaShares wgmma_shares(const Plan& plan, const WarpgroupConfig& c, std::int64_t m) {
  static const std::vector<double> costs = values_of(warpgroup_cost_parameters());
  return Schedule(plan, c, m, costs).fastest().shares;
}

}  // namespace heddle
