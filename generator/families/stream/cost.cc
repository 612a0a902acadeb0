// Side by side the memory brings the weights, and the warps copy tokens, decode, multiply and hand
// over their sums.
#include "generator/families/stream/cost.h"

#include <algorithm>
#include <cmath>

#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"
#include "stream/config.h"

namespace heddle {
namespace {

using device::StreamConfig;
using device::TokenValues;

// The parameters of both families; those of 16 bits lack two.
struct Rates {
  double start, issue, warp_issue, stage, token_bytes, bulk_tokens, row_block, uneven, exchange,
      overlap;
};
constexpr Rates kOfHalves{2138, 3.27, 0.37, 275, 27.9, 0, 35.4, 0, 1442, 4.61};
constexpr Rates kOfCodes{2032, 4, 0.355, 182, 35.8, 1182, 30.2, 650, 1262, 3.14};

Rates rates_of(Costs costs, bool of_codes) {
  std::size_t next = 0;
  const auto take = [&](bool is_there = true) { return is_there ? costs[next++] : 0; };
  // In the order of the members, as initializers are.
  return {take(),         take(), take(),         take(), take(),
          take(of_codes), take(), take(of_codes), take(), take()};
}

// Instructions of a warp for a chunk. Codes of FP8 that become FP16 in the loop take a PRMT and two
// conversions for 16 columns of eight tokens.
double slots_of_chunk(const GemmRequest& gemm, const StreamConfig& c) {
  constexpr double kWidenInLoop = 3 * WeightLayout::kChunkK / 16.0;
  constexpr int kColumnsOfInt8 = 32, kColumnsOfHalves = 16;  // of a matrix instruction
  const bool is_int8 = c.token_values == TokenValues::kInt8;
  const double widen =
      c.token_values == TokenValues::kFp8InLoop ? kWidenInLoop * c.token_tiles() : 0;
  return widen + chunk_slots(gemm, c.has_fp8() ? byte_stream_decode_plan(gemm) : gemm.decode,
                             is_int8 ? kColumnsOfInt8 : kColumnsOfHalves, c.scaling.mode,
                             c.token_tiles());
}

// Each block copies the tokens of its part of K first, while weights are on their way. Codes that
// pass through registers take instructions, also in rows of shared memory that have no token: for
// 512 bytes of a warp, and more where they become FP16 there, since stores of neighbouring lanes
// meet in their banks.
double token_clocks(const GemmRequest& gemm, const StreamConfig& c, std::int64_t m,
                    const Rates& rates) {
  constexpr double kCopy = 6 / 512.0, kWidenOnTheWay = 94 / 512.0;
  const GemmSpec& spec = gemm.spec;
  const double row_bytes =
      static_cast<double>(bytes_of(spec.activation) * spec.shape.k) / c.split_k;
  const double fetch = static_cast<double>(m) * row_bytes / rates.token_bytes;
  if (!c.has_codes()) return fetch;
  if (c.bulk_tokens) return fetch + rates.bulk_tokens;
  const double instructions =
      kCopy + (c.token_values == TokenValues::kFp8OnTheWay ? kWidenOnTheWay : 0);
  return fetch + c.tokens * row_bytes * instructions / rates.issue;
}

}  // namespace

DecodePlan byte_stream_decode_plan(const GemmRequest& gemm) {
  DecodeRequest request = gemm.decode.request;
  request.dtype = DType::kFp16;
  request.order = ElementOrder::kFragment;
  return derive_decode_plan(request);
}

std::vector<CostParameter> stream_cost_parameters(bool of_codes) {
  const Rates& own = of_codes ? kOfCodes : kOfHalves;
  std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", own.start},
      {"issue", "instructions a clock", "that the warps of an SM reach together", own.issue,
       kMostIssue},
      {"warp_issue", "instructions a clock", "that one warp reaches", own.warp_issue,
       kMostWarpIssue},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", own.stage},
      {"token_bytes", "bytes a clock", "of tokens that an SM reads from the L2 cache",
       own.token_bytes},
      {"bulk_tokens", "clocks", "until tokens are there that come by bulk copies", own.bulk_tokens},
      {"row_block", "clocks", "of a block for each row block, warp and 8 tokens: adding sums",
       own.row_block},
      {"uneven", "clocks", "of warps whose parts of K are not as many whole stages", own.uneven},
      {"exchange", "clocks", "to add the sums of two blocks that share K, or of two such pairs",
       own.exchange},
      {"overlap", "exponent", "how little decoding and memory hinder each other", own.overlap},
  };
  // What a family does not have is 0.
  const auto is_absent = [](const CostParameter& one) { return one.value == 0; };
  parameters.erase(std::remove_if(parameters.begin(), parameters.end(), is_absent),
                   parameters.end());
  return parameters;
}

double stream_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                 Costs costs) {
  const auto& c = config_of<StreamConfig>(kernel);
  const Rates rates = rates_of(costs, c.has_codes());
  // What a block has in a launch: stages of each warp, of which a last one that is shorter takes as
  // long as a whole one.
  const double row_blocks = ceil_div(c.shape.row_blocks, c.workers / c.split_k);
  const double stages = row_blocks * ceil_div(c.most_chunks(), c.stage_chunks);
  const double instructions = stages * c.stage_chunks * slots_of_chunk(gemm, c);
  const double issue =
      std::max(instructions * c.warps_k / rates.issue, instructions / rates.warp_issue);
  const double work = token_clocks(gemm, c, m, rates) + issue + stages * rates.stage +
                      row_blocks * c.warps_k * c.token_tiles() * rates.row_block +
                      (c.is_even() ? 0 : rates.uneven);

  const GpuRates gpu(gemm.target);
  const double memory = weight_clocks(gemm, c.stage_bytes(), gpu.memory_bytes);
  const double exchange = rates.exchange * std::log2(c.split_k);
  const double clocks = rates.start + side_by_side(work, memory, rates.overlap) + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
