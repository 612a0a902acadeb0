// How long a kernel for one token takes: side by side the memory brings the weights and the SMs
// decode them, but a warp first waits for its weights, and at the end for the other warps' sums.
#include <algorithm>

#include "gemv/config.h"
#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gemv/candidates.h"
#include "generator/families/gpu_rates.h"

namespace heddle {
namespace {

enum Cost {
  kStart,
  kBlock,
  kIssue,
  kWarpIssue,
  kLatency,
  kSmBytes,
  kWarpSum,
  kExchange,
  kOverlap,
};

}  // namespace

// Fitted to 78 kernels for nine shapes of 4 bits and FP16 on an H100.
const std::vector<CostParameter>& gemv_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first weights in registers", 2214},
      {"block", "clocks", "until a thread block that ends has made room for another that runs",
       298},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.96, kMostIssue},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.23, kMostWarpIssue},
      {"latency", "clocks", "from the request of a chunk's weights to their arrival", 1601},
      {"sm_bytes", "bytes a clock", "of weights and of X that one SM can take", 47, kMostSmBytes},
      {"warp_sum", "clocks", "to add the sums of one more warp at the end", 11},
      {"exchange", "clocks", "to write the sums of blocks that share K, count these, and read",
       3104},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 1.44},
  };
  return parameters;
}

double gemv_us(const GemmRequest& gemm, const PlannedKernel& kernel, Costs costs) {
  const auto& c = config_of<device::GemvConfig>(kernel);
  const GpuRates gpu(gemm.target);
  // Blocks and rounds of the SM that has the most blocks.
  const auto of_sm = static_cast<int>(device::ceil_div(c.blocks(), gemm.target.sm_count));
  const auto rounds = static_cast<double>(device::ceil_div(of_sm, kernel.blocks_per_sm));

  const double instructions = chunk_slots(gemm, c.scaling.mode, 1);
  const double issue = 1.0 * of_sm * c.block_chunks() * instructions / costs[kIssue];
  // A warp decodes its chunks one after the other. What it holds of those ahead hides a request's
  // latency in part; the latency of a warp's first request is in the start, and other blocks of the
  // SM hide it.
  const double decode = instructions / costs[kWarpIssue];
  const double late = std::max(costs[kLatency] - c.ahead * decode, 0.0);
  const double waits = (device::ceil_div(c.warp_chunks(), c.ahead) - 1) * late;
  const double alone = rounds * (c.warp_chunks() * decode + waits) + (rounds - 1) * costs[kBlock];
  const double work = std::max(issue, alone);

  // Every block reads X of its columns.
  const double sm_bytes =
      1.0 * of_sm * (c.block_chunks() * c.weights.chunk_bytes + c.token_bytes());
  const double memory = std::max(
      sm_bytes / costs[kSmBytes],
      weight_clocks(gemm, 1.0 * c.weights.chunk_bytes * c.warp_chunks(), gpu.memory_bytes));
  const double clocks = costs[kStart] + side_by_side(work, memory, costs[kOverlap]) +
                        c.warps_k * costs[kWarpSum] + (c.split_k > 1 ? costs[kExchange] : 0);
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
