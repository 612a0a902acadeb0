// How long tiles of bytes take: rounds of thread blocks, each of which starts, goes through the
// stages of its part of K, and ends with its sums. By counted clocks: no GPU has measured the
// parameters of this family, whose values are those of tiles of 16 bits.
#include <algorithm>
#include <cmath>

#include "generator/families/byte_tiles/candidates.h"
#include "generator/families/configuration.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;

enum Cost {
  kStart,
  kStage,
  kIssue,
  kLatency,
  kSmBytes,
  kSumBytes,
  kExchange,
  kOverlap,
};

constexpr double kSteps = WeightLayout::kChunkK / 32.0;  // of a chunk

// ldmatrix of a warp for a chunk of each of its row tiles, each of 512 bytes.
double fragment_loads(const ByteTilesConfig& c) {
  return kSteps * (c.row_tiles() + c.token_tiles() / 2.0);
}

// Instructions of a warp for that.
double chunk_instructions(const ByteTilesConfig& c) {
  constexpr double kOthers = 20;  // addresses and the loop
  const double tiles = kSteps * c.row_tiles() * c.token_tiles();
  const double products = (c.by_registers ? 4 : c.converts ? 2 : 1) * tiles;
  const double conversions = c.converts ? 8 * fragment_loads(c) : 0;
  return fragment_loads(c) + conversions + products + (c.promotes ? tiles : 0) + kOthers;
}

}  // namespace

const std::vector<CostParameter>& byte_tiles_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2106},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 172},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.66, kMostIssue},
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

double byte_tiles_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  constexpr double kSharedBytes = 128;  // a clock
  constexpr double kLoadBytes = 512;    // of an ldmatrix
  constexpr double kCopySlots = 8;      // instructions for a warp's copy of 16 bytes a lane
  const GemmSpec& spec = plan.spec.gemm();
  const GpuRates gpu(plan.target);
  const auto& c = config_of<ByteTilesConfig>(kernel);
  const std::int64_t blocks = ceil_div(m, c.tile_m) * ceil_div(spec.shape.n, c.tile_n) * c.split_k;
  // Blocks that share an SM run one after the other.
  const int sharers = blocks > plan.target.sm_count ? kernel.blocks_per_sm : 1;
  const auto rounds =
      static_cast<double>(ceil_div(blocks, std::int64_t{plan.target.sm_count} * sharers));
  const auto stages = static_cast<double>(ceil_div(c.total_stages(), c.split_k));

  // Of a stage.
  const double chunks = 1.0 * c.stage_chunks() * c.warps_m * c.warps_n;  // of all warps
  const double instructions =
      chunks * chunk_instructions(c) + kCopySlots * c.stage_bytes() / kLoadBytes;
  const double issue = instructions / costs[kIssue];
  const double rate = (c.converts ? 1 : 2) * mma_products(plan.target);
  const double multiply = 1.0 * c.tile_n * c.stage_k * c.tile_m / rate;
  const double shared = (chunks * fragment_loads(c) * kLoadBytes + c.stage_bytes()) / kSharedBytes;
  const double fetch =
      fetch_clocks(c.stage_bytes(), costs[kSmBytes], costs[kLatency], c.stages, stages);
  // Fragments are loaded, and promoted, beside products.
  const double compute = side_by_side(multiply, std::max(issue, shared), costs[kOverlap]);
  const double step = sharers * side_by_side(compute, fetch, costs[kOverlap]) + 2 * costs[kStage];

  const double tile_bytes = 4.0 * c.tile_m * c.tile_n;
  const double sums = tile_bytes * c.warps_k / costs[kSumBytes];
  // Blocks write their sums, count each other, and read.
  constexpr double kTrips = 3;
  const double others = c.split_k - 1;
  const double exchange = kTrips * (costs[kExchange] * std::log2(c.split_k) +
                                    others * tile_bytes / c.split_k / costs[kSumBytes]);
  const double work = rounds * (stages * step + (rounds > 1 ? sharers * sums : 0));

  const double copy_bytes = 1.0 * c.stage_chunks() * c.weights.chunk_bytes;
  const double memory = weight_clocks(plan, copy_bytes, gpu.memory_bytes) +
                        activation_bytes(spec, m) / gpu.memory_bytes;
  // When the memory is done, the sums are to be added.
  const double clocks =
      costs[kStart] + side_by_side(work, memory, costs[kOverlap]) + sharers * sums + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
