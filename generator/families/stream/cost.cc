// How long a stream takes: side by side the memory brings the weights, and the warps copy tokens,
// decode, multiply and hand over their sums.

#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_work.h"
#include "generator/families/stream/candidates.h"
#include "generator/families/stream/work.h"
#include "stream/config.h"

namespace heddle {
namespace {

struct StreamCost {
  enum {
    kStart,
    kIssue,
    kWarpIssue,
    kStage,
    kTokenBytes,
    kRowBlock,
    kExchange,
    kOverlap,
  };
};

}  // namespace

const std::vector<CostParameter>& stream_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2138},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 3.27, kMostIssue},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.37, kMostWarpIssue},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", 275},
      {"token_bytes", "bytes a clock", "of tokens that an SM reads from the L2 cache", 27.9},
      {"row_block", "clocks", "of a block for each row block, warp and 8 tokens: adding sums",
       35.4},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs",
       1442},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 4.61},
  };
  return parameters;
}

double stream_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  const auto& c = config_of<device::StreamConfig>(kernel);
  const StreamWork all = stream_work(c);
  const double instructions = all.chunks * chunk_slots(plan, c.scaling.mode, c.token_tiles());
  // Each block copies the tokens of its part of K first, while weights are on their way.
  const double token_bytes = 2.0 * static_cast<double>(m * plan.spec.gemm().shape.k) / c.split_k;
  const double work = token_bytes / costs[StreamCost::kTokenBytes] +
                      issue_clocks(instructions, c.warps_k, costs[StreamCost::kIssue],
                                   costs[StreamCost::kWarpIssue]) +
                      all.stages * costs[StreamCost::kStage] +
                      all.row_blocks * c.warps_k * c.token_tiles() * costs[StreamCost::kRowBlock];
  return stream_us(
      plan, c, work,
      {costs[StreamCost::kStart], costs[StreamCost::kExchange], costs[StreamCost::kOverlap]});
}

}  // namespace heddle
