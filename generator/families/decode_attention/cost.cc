// The predicted time of a launch:
//
//   start + (work, beside memory) + merge
//
// work: the tiles of a block's slowest warp, and the end of each of its splits. memory: K, V and
// their scales at the GPU's rate. merge: the partial results of a problem. All sequences count as
// long as they may be, and a window hides nothing.
#include "generator/families/decode_attention/cost.h"

#include <algorithm>
#include <cmath>

#include "generator/families/decode_attention/schedule.h"
#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"

namespace heddle {
namespace {

using device::AttentionTensorConfig;
using device::DecodeAttentionConfig;
using device::kAttentionTile;

// The order of attention_cost_parameters().
enum Parameter { kStart, kTile, kIssue, kSplit, kWarpSum, kExchange, kPartial, kOverlap };

// Bytes of a tile of K or V that are read from memory.
double tile_bytes(const AttentionTensorConfig& tensor) {
  const bool by_block = tensor.scale_use() == device::ScaleUse::kQuery;
  const double entries = by_block ? 1.0 / tensor.group_size : 1;
  return kAttentionTile * (tensor.row_bytes + entries * tensor.entry_bytes);
}

// The work of a tile, in tiles of 128 elements of K and of V: half of that, P for one, depends on
// the tokens alone.
double work_of_tile(const DecodeAttentionConfig& c) {
  return c.row_tiles * (0.5 + (c.k.head_dim + c.v.head_dim) / 512.0);
}

}  // namespace

const std::vector<CostParameter>& attention_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to its first tiles and from its last sums on", 4600},
      {"tile", "clocks", "of a warp for 32 tokens of 128 elements of K and of V", 970},
      {"issue", "clocks", "of an SM to issue the instructions of such a tile", 32},
      {"split", "clocks", "of a block to end a split of a sequence and head and begin the next",
       2540},
      {"warp_sum", "clocks", "to add the sums of a warp to those of its block", 191},
      {"exchange", "clocks", "to exchange partial results of a sequence and head in the workspace",
       2440},
      {"partial", "clocks", "to add the partial result of one cluster", 189},
      {"overlap", "exponent", "how little computing and memory hinder each other", 1.41},
  };
  return parameters;
}

double attention_us(const Target& target, const DecodeAttentionConfig& c, int blocks_per_sm,
                    const LaunchSize& size, Costs costs) {
  const AttentionSchedule all = attention_schedule(target, c, blocks_per_sm, size);
  const auto blocks = static_cast<double>(all.blocks);
  const auto problems = static_cast<double>(all.problems);
  const auto problem_tiles = static_cast<double>(all.sequence_tiles);
  const double tiles = problem_tiles * problems;
  const double block_tiles = tiles / blocks;
  // Splits of a block, and the tiles that its slowest warp has of them.
  const double splits = std::max(block_tiles / problem_tiles, 1.0);
  const double split_tiles = std::ceil(std::min(block_tiles, problem_tiles));
  const double warp_tiles = splits * std::ceil(split_tiles / c.warps);

  const auto sm_blocks = static_cast<double>(
      std::min<std::int64_t>(blocks_per_sm, device::ceil_div(all.blocks, target.sm_count)));
  const double tile_work = work_of_tile(c);
  const double tile_clocks =
      std::max(costs[kTile] * tile_work, costs[kIssue] * tile_work * sm_blocks * c.warps);
  const double work =
      warp_tiles * tile_clocks + splits * (costs[kSplit] + c.warps * costs[kWarpSum]);

  const GpuRates gpu(target);
  const double memory = tiles * (tile_bytes(c.k) + tile_bytes(c.v)) / gpu.memory_bytes;
  const double partials = blocks / problems;
  const bool merges = !all.whole_problems && partials > 1;
  const double merge = merges ? costs[kExchange] + partials / all.cluster * costs[kPartial] : 0;
  const double clocks = costs[kStart] + side_by_side(work, memory, costs[kOverlap]) + merge;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
