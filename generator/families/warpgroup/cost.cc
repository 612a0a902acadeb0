#include "generator/families/warpgroup/cost.h"

#include <algorithm>

#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

// With weights from registers wgmma takes as long for fewer tokens.
constexpr int kFewestColumns = 32;
// Codes of eight bits are multiplied so many times as fast as 16 bits.
constexpr double kByteRate = 2;

enum Cost {
  kStart,
  kStage,
  kIssue,
  kMultiply,
  kInTheWay,
  kSmBytes,
  kLatency,
  kExchange,
  kSumBytes,
  kOverlap,
};

}  // namespace

const std::vector<CostParameter>& warpgroup_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to the first products of its blocks", 2357},
      {"stage", "clocks", "of each stage: waiting for it and freeing it", 56.0},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.27, kMostIssue},
      {"multiply", "products a clock", "that wgmma reaches on an SM", 1464},
      {"in_the_way", "fraction",
       "of decoding or multiplying, the shorter, that the other does not hide", 0.18},
      {"sm_bytes", "bytes a clock", "of weights and tokens that one SM can take", 52.1,
       kMostSmBytes},
      {"latency", "clocks", "from the request of a stage to its arrival", 1028},
      {"exchange", "clocks", "for the blocks that share a tile to wait for each other", 5831},
      {"sum_bytes", "bytes a clock", "of sums that blocks add for each other", 54.9},
      {"overlap", "exponent", "how little computing and memory hinder each other", 3.26},
  };
  return parameters;
}

// Clocks for 64 rows by 128 columns. Decoding and multiplying both need the registers and the
// warps' attention, so the longer of them hides only a part of the shorter.
double WgmmaClocks::unit() const {
  if (c_.byte_operands()) return byte_unit();
  constexpr double kRowTiles = WarpgroupConfig::kRowTile / 16.0;
  const double decode =
      kRowTiles * decode_slots(plan_, c_.scaling.mode, c_.tile_m / 8.0) / costs_[kIssue];
  const double rate = c_.byte_tokens() ? kByteRate : 1;
  const double multiply = 1.0 * WarpgroupConfig::kRowTile * WeightLayout::kChunkK *
                          std::max(c_.tile_m, kFewestColumns) / (rate * costs_[kMultiply]);
  const double in_the_way = costs_[kInTheWay] * std::min(decode, multiply);
  return std::max(decode, multiply) + in_the_way * 2 / c_.warpgroups;
}

// Clocks for 64 rows by 128 columns of codes of eight bits, which are multiplied twice as fast, if
// shared memory gives them so fast; the warps add sums of 128 columns meanwhile.
double WgmmaClocks::byte_unit() const {
  constexpr double kSharedBytes = 128;  // a clock
  const double products = 1.0 * WarpgroupConfig::kRowTile * WeightLayout::kChunkK * c_.tile_m;
  const double operands =
      1.0 * WeightLayout::kChunkK *
      (WarpgroupConfig::kRowTile * (c_.promotes ? c_.tile_m / c_.chunk_sum_tokens() : 1) +
       c_.tile_m);
  const double multiply =
      std::max(products / (kByteRate * costs_[kMultiply]), operands / kSharedBytes);
  // An instruction of a warp for each of its sums, with factors half of a product more, and a
  // quarter of a load.
  const double of_sum = c_.scales_blocks() && !c_.has_token_rows() ? 1.75 : 1;
  const double promote = c_.promotes ? of_sum * c_.tile_m / 2.0 : 0;
  return multiply + costs_[kInTheWay] * promote;
}

double WgmmaClocks::stage() const {
  const double halves = c_.half_stages ? 2 : 1;
  const double units = c_.stage_chunks / halves * c_.tile_n / WarpgroupConfig::kRowTile;
  // Blocks that go through the same tokens at the same time get them for each other.
  const double readers = m_ <= c_.tile_m ? 2 : c_.cluster;
  const double tokens = c_.fits_box() && m_ < c_.tile_m ? static_cast<double>(m_) / c_.tile_m : 1;
  const double bytes = c_.weight_bytes() + tokens * c_.token_bytes() / readers;
  const double fetch = fetch_clocks(bytes, costs_[kSmBytes], costs_[kLatency], c_.stages,
                                    static_cast<double>(c_.total_units()) * halves);
  return halves * (side_by_side(units * unit(), fetch, costs_[kOverlap]) + costs_[kStage]);
}

double WgmmaClocks::exchange(double blocks) const {
  return costs_[kExchange] + blocks * tile_bytes() / costs_[kSumBytes];
}

double WgmmaClocks::late_exchange(double blocks) const {
  return costs_[kExchange] + exchange(blocks + 2);
}

// In a cluster both steps of the exchange are shorter.
double WgmmaClocks::pair_exchange() const {
  return costs_[kExchange] / 3 + tile_bytes() / 2 / costs_[kSumBytes];
}

// Instructions of a warp, counted in SASS of tiles of 256 tokens by 128 rows with scales of tokens
// and channels or of blocks, for each 32 outputs.
double WgmmaClocks::finding() const {
  if (!c_.epilogue.finds_scales) return 0;
  constexpr double kOfTokenRows = 6.4 - 5.0, kInRegisters = 10.5 - 6.6, kInTwoTurns = 38 - 15;
  const double instructions = c_.has_token_rows()       ? kOfTokenRows
                              : c_.finds_in_registers() ? kInRegisters
                                                        : kInTwoTurns;
  return instructions * c_.tile_m * c_.tile_n / 32 / costs_[kIssue];
}

double WgmmaClocks::reading_tokens_apart(std::int64_t tiles, std::int64_t tokens) const {
  // Each half of the cache has copies of what its SMs read, and the weights go through it, too.
  constexpr std::int64_t kShareOfL2 = 4;
  const std::int64_t token_bytes = bytes_of(plan_.spec.activation) * plan_.spec.shape.k;
  if (tokens * token_bytes <= plan_.target.l2_bytes / kShareOfL2) return 0;
  return static_cast<double>(tiles * c_.tile_m * token_bytes) / GpuRates(plan_.target).memory_bytes;
}

double wgmma_launch_us(const GemmRequest& plan, const WarpgroupKernel& c, std::int64_t m,
                       Costs costs, double work_clocks) {
  const GpuRates gpu(plan.target);
  const GemmSpec& spec = plan.spec;
  const double copy_bytes = 1.0 * (c.byte_operands() ? 1 : c.stage_chunks) * c.weights.chunk_bytes;
  const double tokens = activation_bytes(spec, m);
  const double memory =
      weight_clocks(plan, copy_bytes, gpu.memory_bytes) + tokens / gpu.memory_bytes;
  const double clocks = costs[kStart] + side_by_side(work_clocks, memory, costs[kOverlap]);
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
