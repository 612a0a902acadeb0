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

// The values of the cost parameters; kFields says what each means. 0: the family has no such one.
struct Rates {
  double start, issue, warp_issue, stage, token_bytes, bulk_tokens, row_block, uneven, exchange,
      overlap;
};

// Built in: of the family `stream`, tokens of 16 bits, and of `byte_stream`.
constexpr Rates kOfHalves{.start = 2138,
                          .issue = 3.27,
                          .warp_issue = 0.37,
                          .stage = 275,
                          .token_bytes = 27.9,
                          .bulk_tokens = 0,
                          .row_block = 35.4,
                          .uneven = 0,
                          .exchange = 1442,
                          .overlap = 4.61};
constexpr Rates kOfCodes{.start = 2032,
                         .issue = 4,
                         .warp_issue = 0.355,
                         .stage = 182,
                         .token_bytes = 35.8,
                         .bulk_tokens = 1182,
                         .row_block = 30.2,
                         .uneven = 650,
                         .exchange = 1262,
                         .overlap = 3.14};

struct RateField {
  double Rates::*value;
  const char* name;
  const char* unit;
  const char* meaning;
  double most = 0;  // as CostParameter::most
};

// In the order of the families' parameters.
constexpr RateField kFields[] = {
    {&Rates::start, "start", "clocks", "of a launch, up to the first products of its blocks"},
    {&Rates::issue, "issue", "instructions a clock", "that the warps of an SM reach together",
     kMostIssue},
    {&Rates::warp_issue, "warp_issue", "instructions a clock", "that one warp reaches",
     kMostWarpIssue},
    {&Rates::stage, "stage", "clocks",
     "of a warp for each stage: waiting, and asking for the next"},
    {&Rates::token_bytes, "token_bytes", "bytes a clock",
     "of tokens that an SM reads from the L2 cache"},
    {&Rates::bulk_tokens, "bulk_tokens", "clocks",
     "until tokens are there that come by bulk copies"},
    {&Rates::row_block, "row_block", "clocks",
     "of a block for each row block, warp and 8 tokens: adding sums"},
    {&Rates::uneven, "uneven", "clocks", "of warps whose parts of K are not as many whole stages"},
    {&Rates::exchange, "exchange", "clocks",
     "to add the sums of two blocks that share K, or of two such pairs"},
    {&Rates::overlap, "overlap", "exponent", "how little decoding and memory hinder each other"},
};

const Rates& built_in(bool of_codes) { return of_codes ? kOfCodes : kOfHalves; }

// `costs`: of stream_cost_parameters(of_codes).
Rates rates_of(Costs costs, bool of_codes) {
  Rates rates = built_in(of_codes);
  std::size_t next = 0;
  for (const RateField& field : kFields) {
    if (rates.*field.value != 0) rates.*field.value = costs[next++];
  }
  return rates;
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
  std::vector<CostParameter> parameters;
  for (const RateField& field : kFields) {
    const double value = built_in(of_codes).*field.value;
    if (value != 0)
      parameters.push_back({field.name, field.unit, field.meaning, value, field.most});
  }
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
