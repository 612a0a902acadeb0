// How long tiles of mma.sync take: rounds of thread blocks, each of which starts, goes through the
// stages of its part of K, and ends with its sums.
#include <algorithm>

#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tiles/candidates.h"
#include "generator/families/tiles/config.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

enum Cost {
  kStart,
  kAlone,
  kStage,
  kIssue,
  kWarpIssue,
  kLatency,
  kSmBytes,
  kSumBytes,
  kExchange,
  kOverlap,
};

// Thread blocks that run at the same time. A cluster has its SMs in one GPC, of which most have 16:
// pairs reach all of them, larger ones leave some in every GPC over.
std::int64_t places_of(const Target& target, const device::TilesConfig& config, int blocks_per_sm) {
  if (!config.is_cluster()) return std::int64_t{target.sm_count} * blocks_per_sm;
  if (config.split_k == 2) return target.sm_count / 2 * 2;
  constexpr int kSmsOfGpc = 16;
  const int even = target.sm_count * 10 / 11 / config.split_k - 1;
  const int of_gpcs = target.sm_count / kSmsOfGpc * (kSmsOfGpc / config.split_k);
  return std::int64_t{std::max(std::min(even, of_gpcs), 1)} * config.split_k;
}

}  // namespace

const std::vector<CostParameter>& tiles_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 1930},
      {"alone", "clocks", "more where a block fills its SM, so that the next launch waits", 1946},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 187},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.19},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.47},
      {"latency", "clocks", "from the request of a stage to its arrival", 324},
      {"sm_bytes", "bytes a clock", "of weights and tokens that one SM can take", 61.7},
      {"sum_bytes", "bytes a clock", "of sums that warps and blocks add at the end", 20.3},
      {"exchange", "clocks", "for the sums of one more block that shares K to come to another",
       590},
      {"overlap", "exponent", "how little computing and memory hinder each other", 4.19},
  };
  return parameters;
}

double tiles_us(const Plan& plan, const GemmVariant& v, std::int64_t m, Costs costs) {
  const WeightLayout& layout = plan.layout;
  const GemmSpec& spec = plan.spec.gemm();
  const GpuRates gpu(plan.target);
  const device::TilesConfig config = tiles_config(spec, layout, v);
  const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(spec.shape.n, v.tile_n);
  const std::int64_t places = places_of(plan.target, config, v.blocks_per_sm);
  const std::int64_t blocks = tiles * v.split_k;
  // Blocks that have an SM together take it in turns.
  const auto rounds = static_cast<double>(ceil_div(blocks, places));
  const double sharers = blocks > plan.target.sm_count ? v.blocks_per_sm : 1;
  const auto stages = static_cast<double>(ceil_div(config.total_stages(), v.split_k));

  const double row_tiles = v.tile_n / 16.0;
  const double chunks = row_tiles * v.stage_k / WeightLayout::kChunkK;
  const double instructions = chunks * v.warps_m * chunk_instructions(plan, v, v.token_tiles());
  const double warps = v.warps_m * v.warps_n * v.warps_k;
  const double fetch =
      fetch_clocks(config.stage_bytes(), costs[kSmBytes], costs[kLatency], v.stages, stages);
  const double issue = instructions / costs[kIssue];
  const double multiply = 1.0 * v.tile_n * v.stage_k * v.tile_m / mma_products(plan.target);
  const double alone = instructions / warps / costs[kWarpIssue];
  const double step =
      std::max(sharers * side_by_side(std::max(issue, multiply), fetch, costs[kOverlap]), alone) +
      costs[kStage] * (v.kernel == GemmKernel::kBulk ? 1 : 2);
  const double tile_bytes = 4.0 * v.tile_m * v.tile_n;
  const double sums = tile_bytes * v.warps_k / costs[kSumBytes];
  // A cluster's blocks send their sums; others write them, count each other, and read.
  const double trips = config.is_cluster() ? 1 : 3;
  const double exchange =
      trips * (v.split_k - 1) * (costs[kExchange] + tile_bytes / v.split_k / costs[kSumBytes]);
  const double work = rounds * (stages * step + (rounds > 1 ? sharers * sums : 0));

  const double copy_bytes = 1.0 * v.stage_k / WeightLayout::kChunkK * layout.chunk_bytes;
  const double tokens = 2.0 * static_cast<double>(m * (spec.shape.k + spec.shape.n));
  const double memory =
      weight_clocks(plan, copy_bytes, gpu.memory_bytes) + tokens / gpu.memory_bytes;
  // When the memory is done, the sums are to be added.
  const bool alone_on_sm = m <= config.tokens_alone;
  const double start = costs[kStart] + (alone_on_sm ? costs[kAlone] : 0);
  const double clocks =
      start + side_by_side(work, memory, costs[kOverlap]) + sharers * sums + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
