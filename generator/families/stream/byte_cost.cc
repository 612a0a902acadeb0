// Side by side the memory brings the weights, and the warps copy tokens, decode, multiply and hand
// over their sums.
#include "generator/families/stream/byte_cost.h"

#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_work.h"
#include "generator/families/stream/work.h"
#include "stream/config.h"

namespace heddle {
namespace {

using device::StreamConfig;
using device::TokenValues;

struct ByteStreamCost {
  enum {
    kStart,
    kIssue,
    kWarpIssue,
    kStage,
    kTokenBytes,
    kBulkTokens,
    kRowBlock,
    kUneven,
    kExchange,
    kOverlap,
  };
};

// Instructions of a warp that copies 512 bytes of tokens through registers. Where codes of FP8
// become FP16 there, 13 more are counted, but as much as 94 is measured: stores of neighbouring
// lanes meet in their banks. In the loop it is a PRMT and two conversions for 16 columns of eight
// tokens.
constexpr double kCopy = 6 / 512.0, kWidenOnTheWay = 94 / 512.0;
constexpr double kWidenInLoop = 3 * WeightLayout::kChunkK / 16.0;

double slots_of_chunk(const Plan& plan, const StreamConfig& c) {
  constexpr int kColumnsOfInt8 = 32, kColumnsOfHalves = 16;  // of a matrix instruction
  if (!c.has_fp8()) {
    return chunk_slots(plan, plan.decode, kColumnsOfInt8, c.scaling.mode, c.token_tiles());
  }
  const double widen =
      c.token_values == TokenValues::kFp8InLoop ? kWidenInLoop * c.token_tiles() : 0;
  return widen + chunk_slots(plan, byte_stream_decode_plan(plan), kColumnsOfHalves, c.scaling.mode,
                             c.token_tiles());
}

// Each block copies the tokens of its part of K first, while weights are on their way; rows of
// shared memory that have no token are filled, too.
double token_clocks(const Plan& plan, const StreamConfig& c, std::int64_t m, Costs costs) {
  const double row_bytes = static_cast<double>(plan.spec.gemm().shape.k) / c.split_k;
  const double fetch = static_cast<double>(m) * row_bytes / costs[ByteStreamCost::kTokenBytes];
  if (c.bulk_tokens) return fetch + costs[ByteStreamCost::kBulkTokens];
  const double instructions =
      kCopy + (c.token_values == TokenValues::kFp8OnTheWay ? kWidenOnTheWay : 0);
  return fetch + c.tokens * row_bytes * instructions / costs[ByteStreamCost::kIssue];
}

}  // namespace

DecodePlan byte_stream_decode_plan(const Plan& plan) {
  DecodeRequest request = plan.decode.request;
  request.dtype = DType::kFp16;
  request.order = ElementOrder::kFragment;
  return derive_decode_plan(request);
}

const std::vector<CostParameter>& byte_stream_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2032},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 4, kMostIssue},
      {"warp_issue", "instructions a clock", "that one warp reaches", 0.355, kMostWarpIssue},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", 182},
      {"token_bytes", "bytes a clock", "of tokens that an SM reads from the L2 cache", 35.8},
      {"bulk_tokens", "clocks", "until tokens are there that come by bulk copies", 1182},
      {"row_block", "clocks", "of a block for each row block, warp and 8 tokens: adding sums",
       30.2},
      {"uneven", "clocks", "of warps whose parts of K are not as many whole stages", 650},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs",
       1262},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 3.14},
  };
  return parameters;
}

double byte_stream_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m, Costs costs) {
  const auto& c = config_of<StreamConfig>(kernel);
  const StreamWork all = stream_work(c);
  const double instructions = all.chunks * slots_of_chunk(plan, c);
  const double work =
      token_clocks(plan, c, m, costs) +
      issue_clocks(instructions, c.warps_k, costs[ByteStreamCost::kIssue],
                   costs[ByteStreamCost::kWarpIssue]) +
      all.stages * costs[ByteStreamCost::kStage] +
      all.row_blocks * c.warps_k * c.token_tiles() * costs[ByteStreamCost::kRowBlock] +
      (c.is_even() ? 0 : costs[ByteStreamCost::kUneven]);
  return stream_us(plan, c, work,
                   {costs[ByteStreamCost::kStart], costs[ByteStreamCost::kExchange],
                    costs[ByteStreamCost::kOverlap]});
}

}  // namespace heddle
