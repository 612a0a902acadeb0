// How long tiles of mma.sync take: rounds of thread blocks, each of which starts, goes through the
// stages of its part of K, and ends with its sums.
#include <algorithm>
#include <cmath>

#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tiles/candidates.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::TilesConfig;

enum Cost {
  kStart,
  kStage,
  kIssue,
  kWarpIssue,
  kLatency,
  kSmBytes,
  kSumBytes,
  kExchange,
  kOverlap,
};

// Thread blocks that run at the same time. A cluster has its SMs in one GPC: all GPCs but one have
// 16 at least, and one may have half of that. (Of 2 to 8 blocks that fill their SMs an H100 runs
// 66, 39, 30, 22, 17, 15 and 15 clusters, as cuOccupancyMaxActiveClusters says.)
std::int64_t places_of(const Target& target, const TilesConfig& config, int blocks_per_sm) {
  const std::int64_t all = std::int64_t{target.sm_count} * blocks_per_sm;
  const int cluster = config.is_cluster() ? config.split_k : 1;
  if (cluster <= 2) return all / cluster * cluster;
  constexpr int kSmsOfGpc = 16;
  const int gpcs = std::max(target.sm_count / kSmsOfGpc - 1, 0);
  const int of_gpc = kSmsOfGpc * blocks_per_sm / cluster;
  const int of_last = kSmsOfGpc / 2 * blocks_per_sm / cluster;
  return std::int64_t{std::max(gpcs * of_gpc + of_last, 1)} * cluster;
}

// Thread blocks that find room on an SM.
int residents(const Target& target, const PlannedKernel& kernel) {
  constexpr int kMostResidents = 2;
  const bool bulk = config_of<TilesConfig>(kernel).feeder == device::Feeder::kBulk;
  return bulk ? blocks_that_fit(target, kernel.threads, kernel.shared_bytes, kMostResidents)
              : kernel.blocks_per_sm;
}

}  // namespace

const std::vector<CostParameter>& tiles_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2106},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 172},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.66, kMostIssue},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.55, kMostWarpIssue},
      {"latency", "clocks", "from the request of a stage to its arrival", 311},
      {"sm_bytes", "bytes a clock", "of weights and tokens that one SM can take", 64.0,
       kMostSmBytes},
      {"sum_bytes", "bytes a clock", "of sums that warps and blocks add at the end", 19.8},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs",
       562},
      {"overlap", "exponent", "how little computing and memory hinder each other", 3.24},
  };
  return parameters;
}

double tiles_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  const GemmSpec& spec = plan.spec.gemm();
  const GpuRates gpu(plan.target);
  const auto& config = config_of<TilesConfig>(kernel);
  const std::int64_t tiles = ceil_div(m, config.tile_m) * ceil_div(spec.shape.n, config.tile_n);
  const std::int64_t blocks = tiles * config.split_k;
  // Blocks that share an SM run one after the other.
  const int sharers = blocks > plan.target.sm_count ? residents(plan.target, kernel) : 1;
  const auto rounds =
      static_cast<double>(ceil_div(blocks, places_of(plan.target, config, sharers)));
  const auto stages = static_cast<double>(ceil_div(config.total_stages(), config.split_k));

  const double chunks = config.stage_row_blocks() * config.stage_chunks();
  const double instructions =
      chunks * config.warps_m * chunk_slots(plan, config.scaling.mode, config.token_tiles());
  const double warps = config.multiplying_warps();
  const double fetch =
      fetch_clocks(config.stage_bytes(), costs[kSmBytes], costs[kLatency], config.stages, stages);
  const double issue = instructions / costs[kIssue];
  const double multiply =
      1.0 * config.tile_n * config.stage_k * config.tile_m / mma_products(plan.target);
  const double alone = instructions / warps / costs[kWarpIssue];
  const double step =
      std::max(sharers * side_by_side(std::max(issue, multiply), fetch, costs[kOverlap]), alone) +
      costs[kStage] * (config.feeder == device::Feeder::kBulk ? 1 : 2);
  const double tile_bytes = 4.0 * config.tile_m * config.tile_n;
  const double sums = tile_bytes * config.warps_k / costs[kSumBytes];
  // A cluster's blocks send their sums; others write them, count each other, and read.
  const double trips = config.is_cluster() ? 1 : 3;
  const double others = config.split_k - 1;
  const double exchange = trips * (costs[kExchange] * std::log2(config.split_k) +
                                   others * tile_bytes / config.split_k / costs[kSumBytes]);
  const double work = rounds * (stages * step + (rounds > 1 ? sharers * sums : 0));

  const double copy_bytes = 1.0 * config.stage_chunks() * config.weights.chunk_bytes;
  const double tokens = activation_bytes(spec, m);
  const double memory =
      weight_clocks(plan, copy_bytes, gpu.memory_bytes) + tokens / gpu.memory_bytes;
  // When the memory is done, the sums are to be added.
  const double clocks =
      costs[kStart] + side_by_side(work, memory, costs[kOverlap]) + sharers * sums + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
