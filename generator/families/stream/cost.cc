// How long a stream takes: the slower of what the memory brings and what the warps decode, behind
// the start of a block and the copy of its tokens.
#include <algorithm>
#include <cmath>

#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "generator/families/stream/candidates.h"
#include "generator/families/stream/shape.h"

namespace heddle {
namespace {

enum Cost {
  kStart,
  kEarly,
  kIssue,
  kWarpIssue,
  kStage,
  kTokenBytes,
  kLatency,
  kRowBlock,
  kExchange,
  kOverlap,
};

}  // namespace

const std::vector<CostParameter>& stream_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2413},
      {"early", "clocks", "of the start that a block is ahead where it fits beside the kernel before",
       300},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 3.77},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.48},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", 174},
      {"token_bytes", "bytes a clock", "of tokens that an SM reads from the L2 cache", 24.4},
      {"latency", "clocks", "from the request of weights to their arrival", 629},
      {"row_block", "clocks", "of a block for each row block and warp: adding its sums", 43.7},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs", 1587},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 2.78},
  };
  return parameters;
}

double stream_us(const Plan& plan, const GemmVariant& v, std::int64_t m, Costs costs) {
  const WeightLayout& layout = plan.layout;
  const GpuRates gpu(plan.target);
  const auto token_tiles = static_cast<double>(ceil_div(v.tile_m, kTokenTile));
  const double row_blocks =
      static_cast<double>(ceil_div(layout.row_blocks, v.workers / v.split_k));
  const int of_warp = stream_chunks_of_warp(layout, v);
  // All stages of the rings but one are on their way.
  const double ring =
      1.0 * (v.stages - 1) * v.warps_k * std::min(v.stage_chunks, of_warp) * layout.chunk_bytes;
  // A last stage that is shorter takes as long as a whole one.
  const auto slots = static_cast<double>(ceil_div(of_warp, v.stage_chunks) * v.stage_chunks);
  const double instructions = row_blocks * slots * chunk_instructions(plan, v, token_tiles);
  const double issue = std::max(instructions * v.warps_k / costs[kIssue],
                                instructions / costs[kWarpIssue]);
  const auto stages = static_cast<double>(ceil_div(of_warp, v.stage_chunks));
  const double work = issue + row_blocks * stages * costs[kStage] + row_blocks * v.warps_k * costs[kRowBlock];
  const double of_block =
      row_blocks * static_cast<double>(ceil_div(layout.chunks_per_row_block, v.split_k)) *
      layout.chunk_bytes;
  const double memory =
      std::max(weight_clocks(plan, 1.0 * v.stage_chunks * layout.chunk_bytes, gpu.memory_bytes),
               of_block * costs[kLatency] / ring);
  const double tokens = 2.0 * static_cast<double>(m) * static_cast<double>(plan.spec.gemm().shape.k) /
                        v.split_k / costs[kTokenBytes];
  const double exchange = costs[kExchange] * std::log2(v.split_k);
  const double start = costs[kStart] - (v.blocks_per_sm > 1 ? costs[kEarly] : 0);
  const double clocks =
      start + tokens + side_by_side(work, memory, costs[kOverlap]) + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
