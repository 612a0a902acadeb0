// Side by side the memory brings the weights, and the warps decode, multiply and hand over sums.
#include "generator/families/few_experts/cost.h"

#include <algorithm>
#include <cmath>

#include "generator/ceil_div.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"

namespace heddle {
namespace {

enum Cost { kLaunch, kLate, kTogether, kIssue, kStage, kSums, kMiddle, kExchange, kOverlap };

}  // namespace

const std::vector<CostParameter>& few_experts_cost_parameters() {
  static const std::vector<CostParameter> parameters = {
      {"launch", "us", "of each launch, up to its first products", 1.85},
      {"late", "us", "of the second launch where no SM has room for blocks of both", 2.0},
      {"together", "ratio", "of the memory's time where SMs have room for both, to that where not",
       1.15},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.55, kMostIssue},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", 590},
      {"sums", "clocks", "of a block for each row block and 8 tokens: adding the warps' sums", 350},
      {"middle", "bytes a clock", "of rows of the middle that an SM reads from the L2 cache", 13.4},
      {"exchange", "clocks", "to add the sums of two blocks that share K", 300},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 4.6},
  };
  return parameters;
}

double few_product_us(const ExpertGemm& gemm, const FewWay& way, bool is_down, bool is_together,
                      const FewLoad& load, Costs costs) {
  const device::StreamConfig& c = way.stream;
  const auto rows = static_cast<double>(way.shares.rows);
  const double blocks = c.workers;
  const double groups = way.shares.groups;
  // What the busiest group of warps has: units, each of some row blocks. Of the second product a
  // block owns the same row blocks of all experts.
  const double row_blocks = c.shape.row_blocks;
  const double own = std::ceil(row_blocks * c.split_k / blocks);
  const double multiplied = is_down ? std::min(rows, own) : 1;  // row blocks of a unit
  const double units = is_down ? std::ceil(load.experts * std::ceil(own / multiplied))
                               : std::ceil(load.experts * row_blocks / blocks);
  const double turns = std::ceil(units / groups);
  const double rows_of_all = is_down ? load.experts * own : units;
  const double rows_of_group = rows_of_all * turns / units;
  const double stages = turns * static_cast<double>(ceil_div(c.most_chunks(), c.stage_chunks));
  const double instructions =
      rows_of_group * c.most_chunks() *
      chunk_slots(gemm.request(), c.scaling.mode, static_cast<double>(c.token_tiles()));
  const double issue = instructions * c.warps_k * groups / costs[kIssue];
  const double sums = rows_of_all * c.token_tiles() * costs[kSums];
  const double work = std::max(issue + stages * costs[kStage], sums);

  const GpuRates gpu(*gemm.target);
  double memory = load.experts * weight_clocks(gemm.request(), c.stage_bytes(), gpu.memory_bytes);
  if (is_down) {
    const double row_bytes = 2.0 * device::Chunk::kColumns * c.shape.chunks / c.split_k;
    const double read = units * load.tokens * row_bytes;
    memory += read / costs[kMiddle];
  }
  if (is_together) memory *= costs[kTogether];
  // What comes behind the last products: all groups' last sums are there at about the same time.
  const double last = std::min(groups, units) * multiplied * c.token_tiles() * costs[kSums] +
                      costs[kExchange] * std::log2(c.split_k);
  return (side_by_side(work, memory, costs[kOverlap]) + last) / gpu.clocks_per_us;
}

double few_launches_us(int launches, bool is_together, Costs costs) {
  return launches * costs[kLaunch] + (is_together ? 0 : costs[kLate]);
}

}  // namespace heddle
