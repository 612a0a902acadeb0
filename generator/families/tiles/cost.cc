// How long a stage of tiles of mma.sync takes, and how many thread blocks run at the same time.
#include <algorithm>
#include <cstddef>

#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/mma_cost.h"
#include "generator/families/tiles/candidates.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::TilesConfig;

// Behind those of MmaCost: what one warp reaches.
constexpr std::size_t kWarpIssue = kMmaOverlap + 1;

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
  static const std::vector<CostParameter> parameters = [] {
    std::vector<CostParameter> all = mma_cost_parameters();
    all.push_back(
        {"warp_issue", "instructions a clock", "that one warp reaches", 0.55, kMostWarpIssue});
    return all;
  }();
  return parameters;
}

double tiles_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  const auto& c = config_of<TilesConfig>(kernel);
  const std::int64_t blocks = mma_blocks(c, m);
  // Blocks that share an SM run one after the other.
  const int sharers = blocks > gemm.target.sm_count ? residents(gemm.target, kernel) : 1;
  const auto rounds = static_cast<double>(ceil_div(blocks, places_of(gemm.target, c, sharers)));

  const double chunks = c.stage_row_blocks() * c.stage_chunks();
  const double instructions =
      chunks * c.warps_m * chunk_slots(gemm, c.scaling.mode, c.token_tiles());
  const double warps = c.multiplying_warps();
  const double fetch = fetch_clocks(c.stage_bytes(), costs[kMmaSmBytes], costs[kMmaLatency],
                                    c.stages, mma_stages(c));
  const double issue = instructions / costs[kMmaIssue];
  const double multiply = 1.0 * c.tile_n * c.stage_k * c.tile_m / mma_products(gemm.target);
  const double alone = instructions / warps / costs[kWarpIssue];
  const double step =
      std::max(sharers * side_by_side(std::max(issue, multiply), fetch, costs[kMmaOverlap]),
               alone) +
      costs[kMmaStage] * (c.feeder == device::Feeder::kBulk ? 1 : 2);
  // A cluster's blocks send their sums; others write them, count each other, and read.
  return mma_us(gemm, c, m, {rounds, sharers, step, c.is_cluster() ? 1.0 : 3.0}, costs);
}

}  // namespace heddle
