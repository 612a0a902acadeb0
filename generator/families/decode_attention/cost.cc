// The memory brings K and V while warps go through their tiles. Then a block adds the sums of its
// warps, and blocks that share a sequence and head merge their parts. All sequences count as long
// as they may be, and a window hides nothing.
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

enum Parameter { kStart, kTile, kIssue, kSegment, kWarpSum, kExchange, kPart, kOverlap };

// What the memory reads of a tile of K or V.
double tile_bytes(const AttentionTensorConfig& tensor) {
  const bool by_block = tensor.scale_use() == device::ScaleUse::kQuery;
  const double entries = by_block ? 1.0 / tensor.group_size : 1;
  return kAttentionTile * (tensor.row_bytes + entries * tensor.entry_bytes);
}

// What a tile takes in units of one of 128 elements of K and of V: half of it, P for one, depends
// on the tokens alone.
double work_of_tile(const DecodeAttentionConfig& c) {
  return c.row_tiles * (0.5 + (c.k.head_dim + c.v.head_dim) / 512.0);
}

}  // namespace

const std::vector<CostParameter>& attention_cost_parameters() {
  static const std::vector<CostParameter> parameters{
      {"start", "clocks", "of a launch, up to its first tiles and from its last sums on", 4600},
      {"tile", "clocks", "of a warp for 32 tokens of 128 elements of K and of V", 970},
      {"issue", "clocks", "of an SM to issue the instructions of such a tile", 32},
      {"segment", "clocks", "of a block to end with a sequence and head, and to begin the next",
       2540},
      {"warp_sum", "clocks", "to add the sums of a warp to those of its block", 191},
      {"exchange", "clocks", "of blocks that share a sequence and head by way of the workspace",
       2440},
      {"part", "clocks", "to add what one of these blocks, or a pair of them, left there", 189},
      {"overlap", "exponent", "how little computing and memory hinder each other", 1.41},
  };
  return parameters;
}

double attention_us(const Target& target, const DecodeAttentionConfig& c, int blocks_per_sm,
                    const LaunchSize& size, Costs costs) {
  const AttentionSchedule all = attention_schedule(target, c, blocks_per_sm, size);
  const auto blocks = static_cast<double>(all.blocks);
  const auto of_sequence = static_cast<double>(all.tiles_of_sequence);
  const auto tiles = of_sequence * static_cast<double>(all.items);
  const double of_block = tiles / blocks;
  // Sequences and heads that a block goes through, and the tiles that its slowest warp has of them.
  const double segments = std::max(of_block / of_sequence, 1.0);
  const double of_segment = std::ceil(std::min(of_block, of_sequence));
  const double turns = segments * std::ceil(of_segment / c.warps);

  const auto of_sm = static_cast<double>(
      std::min<std::int64_t>(blocks_per_sm, device::ceil_div(all.blocks, target.sm_count)));
  const double of_tile = work_of_tile(c);
  const double turn = std::max(costs[kTile] * of_tile, costs[kIssue] * of_tile * of_sm * c.warps);
  const double work = turns * turn + segments * (costs[kSegment] + c.warps * costs[kWarpSum]);

  const GpuRates gpu(target);
  const double memory = tiles * (tile_bytes(c.k) + tile_bytes(c.v)) / gpu.memory_bytes;
  const double parts = blocks / static_cast<double>(all.items);
  const bool exchanges = !all.teams && parts > 1;
  const double merge = exchanges ? costs[kExchange] + parts / all.cluster * costs[kPart] : 0;
  const double clocks = costs[kStart] + side_by_side(work, memory, costs[kOverlap]) + merge;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle
