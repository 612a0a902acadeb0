// The time of tiles of mma.sync: rounds of thread blocks, each of which starts, goes through the
// stages of its part of K, and ends with its sums.
#ifndef HEDDLE_GENERATOR_FAMILIES_MMA_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_MMA_COST_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/gemm_request.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// The parameters of MmaCost, in its order.
const std::vector<CostParameter>& mma_cost_parameters();
enum MmaCost {
  kMmaStart,
  kMmaStage,
  kMmaIssue,
  kMmaLatency,
  kMmaSmBytes,
  kMmaSumBytes,
  kMmaExchange,
  kMmaOverlap,
};

// Thread blocks of a launch with m tokens. Config: a family's configuration.
template <class Config>
std::int64_t mma_blocks(const Config& c, std::int64_t m) {
  return ceil_div(m, c.tile_m) * ceil_div(c.shape.n, c.tile_n) * c.split_k;
}

// Stages of a block.
template <class Config>
double mma_stages(const Config& c) {
  return static_cast<double>(ceil_div(c.total_stages(), c.split_k));
}

// How the blocks of a launch run.
struct MmaRun {
  double rounds;  // of blocks
  int sharers;    // blocks that share an SM, one after the other
  double step;    // clocks of a stage of all of these
  double trips;   // ways of sums through memory where blocks share K
};

// Microseconds of a launch with m tokens. `costs`: in the order of MmaCost.
template <class Config>
double mma_us(const GemmRequest& gemm, const Config& c, std::int64_t m, const MmaRun& run,
              Costs costs) {
  const GpuRates gpu(gemm.target);
  const double tile_bytes = 4.0 * c.tile_m * c.tile_n;
  const double sums = tile_bytes * c.warps_k / costs[kMmaSumBytes];
  const double others = c.split_k - 1;
  const double exchange = run.trips * (costs[kMmaExchange] * std::log2(c.split_k) +
                                       others * tile_bytes / c.split_k / costs[kMmaSumBytes]);
  const double work =
      run.rounds * (mma_stages(c) * run.step + (run.rounds > 1 ? run.sharers * sums : 0));

  const double copy_bytes = 1.0 * c.stage_chunks() * c.weights.chunk_bytes;
  const double tokens = activation_bytes(gemm.spec, m);
  const double memory =
      weight_clocks(gemm, copy_bytes, gpu.memory_bytes) + tokens / gpu.memory_bytes;
  // When the memory is done, the sums are to be added.
  const double clocks = costs[kMmaStart] + side_by_side(work, memory, costs[kMmaOverlap]) +
                        run.sharers * sums + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_MMA_COST_H_
