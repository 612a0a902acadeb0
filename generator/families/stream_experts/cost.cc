// Side by side the memory brings the weights, and the warps decode, multiply and see to sums.
#include "generator/families/stream_experts/cost.h"

#include <algorithm>
#include <cmath>

#include "generator/ceil_div.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/operations/moe/moe.h"

namespace heddle {
namespace {

using device::SegmentShares;
using device::StreamConfig;
using device::StreamExpertsConfig;

enum Cost { kPhase, kMoved, kIssue, kStage, kPut, kSums, kPart, kFinish, kDrain, kOverlap };

}  // namespace

const std::vector<CostParameter>& stream_experts_cost_parameters() {
  static const std::vector<CostParameter> parameters = {
      {"phase", "us", "that each launch takes beside its products", 2.9},
      {"moved", "ratio", "of the time of the rows' outputs, written and read, to that of reading",
       2.7},
      {"issue", "instructions a clock", "that the warps of an SM reach together", 2.8, kMostIssue},
      {"stage", "clocks", "of a warp for each stage: waiting, and asking for the next", 660},
      {"put", "instructions", "of a warp that hands its sums of a row block to those that add", 39},
      {"sums", "clocks", "of a block for each row block and 8 rows: adding the warps' sums", 250},
      {"part", "clocks", "more for each of the warps that share K", 37},
      {"finish", "instructions", "of a warp that has all of K, for each row block and 8 rows", 105},
      {"drain", "row blocks", "of a group of warps: what a block with one buffer waits for rows",
       2.4},
      {"overlap", "exponent", "how little decoding and memory hinder each other", 10},
  };
  return parameters;
}

double segment_product_us(const ExpertGemm& gemm, const StreamConfig& c,
                          const SegmentShares& shares, double tiles, Costs costs) {
  const GpuRates gpu(*gemm.target);
  const double tiles_of_8 = c.token_tiles();
  // Each block has a run of all row blocks, which its groups of warps take in turn.
  const double units = std::ceil(tiles * c.shape.row_blocks / c.workers);
  const double turns = units / shares.groups;
  const double stages = turns * static_cast<double>(ceil_div(c.most_chunks(), c.stage_chunks));
  const bool has_adders = StreamExpertsConfig::adders(c) > 0;
  const double of_unit = c.most_chunks() * chunk_slots(gemm.request(), c.scaling.mode, tiles_of_8);
  const double of_end = has_adders ? costs[kPut] : costs[kFinish] * tiles_of_8;
  const double warps = 1.0 * c.warps_k * shares.groups;
  const double issue = turns * (of_unit + of_end) * warps / costs[kIssue];
  const double sums = has_adders ? tiles_of_8 * (costs[kSums] + costs[kPart] * c.warps_k) : 0;
  const double work = std::max(issue + stages * costs[kStage], units * sums);
  const double memory = tiles * weight_clocks(gemm.request(), c.stage_bytes(), gpu.memory_bytes);
  // Of the tiles that a block goes on to: with one buffer all warps are done with a tile before the
  // next one's rows are fetched.
  const double drains = shares.buffers > 1 ? 0 : tiles / c.workers;
  const double drain = drains * costs[kDrain] * of_unit * warps / costs[kIssue];
  // All groups' last sums are there at about the same time.
  const double last = std::min<double>(shares.groups, units) * sums;
  return (side_by_side(work, memory, costs[kOverlap]) + drain + last) / gpu.clocks_per_us;
}

double stream_experts_us(const Plan& plan, const StreamExpertsConfig& config, std::int64_t tokens,
                         Costs costs) {
  const ExpertLoad load = expert_load(plan.spec.moe(), tokens, config.layer.tile_rows);
  const ExpertGemms expert = gemms_of_expert(plan, Path::kHopper);
  const GpuRates gpu(plan.target);
  const double moved = 2 * 4 * load.rows * static_cast<double>(config.layer.hidden);
  return config.phases() * costs[kPhase] +
         costs[kMoved] * moved / gpu.memory_bytes / gpu.clocks_per_us +
         segment_product_us(expert.gate_up, config.gate_up, config.gate_up_shares, load.tiles,
                            costs) +
         segment_product_us(expert.down, config.down, config.down_shares, load.tiles, costs);
}

}  // namespace heddle
