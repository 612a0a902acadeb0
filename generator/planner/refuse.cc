#include "generator/planner/refuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/tiles/config.h"
#include "generator/planner/bulk.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/stage.h"
#include "generator/planner/wgmma.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMostTilesOfN = 65535;  // the grid's second dimension
// Sums, partial sums and fragments beyond this many registers spill.
constexpr int kMaxSumRegisters = 160;

class Reasons {
 public:
  explicit Reasons(std::vector<Problem> first = {}) : problems_(std::move(first)) {}
  void unless(bool fine, const char* pointer, std::string message, std::string value = {},
              std::string allowed = {}) {
    if (fine) return;
    problems_.push_back({pointer, std::move(message), std::move(value), std::move(allowed), ""});
  }
  // What was found so far; the next ones start anew.
  std::vector<Problem> take() { return std::exchange(problems_, {}); }

 private:
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> refuse_weight(const WeightSpec& weight) {
  Reasons reasons;
  reasons.unless(weight.group_offset == 0, "/weight/group_offset",
                 "no kernel reads a partial first group yet",
                 fmt::format("{}", weight.group_offset), "0");
  return reasons.take();
}

std::vector<Problem> refuse_pair(const GemmSpec& spec, const Target& target) {
  Reasons reasons(refuse_weight(spec.weight));
  const int arch = target.arch();
  reasons.unless(has_tensor_cores(target), "",
                 fmt::format("target {} has no tensor core path", target.name),
                 fmt::format("sm_{}", arch), "sm_75 and up");
  reasons.unless(spec.activation == DType::kFp16 || has_bf16(target), "/activation/dtype",
                 fmt::format("the tensor cores of {} (sm_{}) have no bfloat16", target.name, arch),
                 "\"bf16\"", "\"fp16\"");
  reasons.unless(spec.path != Path::kAmpere || has_async_copies(target), "/path",
                 fmt::format("{} (sm_{}) has no cp.async and no mma.m16n8k16", target.name, arch),
                 "\"ampere\"", "\"turing\", \"auto\"");
  reasons.unless(
      spec.path != Path::kHopper || has_bulk_copies(target), "/path",
      fmt::format("{} (sm_{}) has no bulk copies", target.name, arch), "\"hopper\"",
      has_async_copies(target) ? "\"turing\", \"ampere\", \"auto\"" : "\"turing\", \"auto\"");
  return reasons.take();
}

std::vector<Problem> refuse_stream(const GemmSpec& spec) {
  Reasons reasons;
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/path",
                 "streamed weights know no float zero points", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(spec.shape.m_min <= 8, "/path", "streamed weights serve up to 8 tokens",
                 "\"hopper\"", "\"auto\", \"ampere\"");
  std::vector<Problem> problems = reasons.take();
  if (problems.empty() && !sets_any(spec.tile)) {
    problems.push_back({"/path", "the tokens of so long rows do not fit into the shared memory",
                        "\"hopper\"", "\"auto\", \"ampere\"", ""});
  } else if (problems.empty()) {
    problems.push_back({"/tile",
                        "up to 8 tokens are served by streams here, none of which has this tile",
                        "", "/shape/m from 9 on, no tile, or another path", ""});
  }
  return problems;
}

std::vector<Problem> refuse_tile(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& v) {
  Reasons reasons;
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  reasons.unless(v.tile_m % (8 * v.warps_m) == 0, "/tile/m",
                 fmt::format("each of {} warps along M takes whole tiles of 8 tokens", v.warps_m),
                 number(v.tile_m), fmt::format("multiples of {}", 8 * v.warps_m));
  reasons.unless(v.tile_n % (16 * v.warps_n) == 0, "/tile/n",
                 fmt::format("each of {} warps along N takes whole tiles of 16 rows", v.warps_n),
                 number(v.tile_n), fmt::format("multiples of {}", 16 * v.warps_n));
  reasons.unless(v.stage_k % 128 == 0 && v.stage_k % (64 * v.warps_k) == 0, "/tile/k",
                 fmt::format("a stage is whole chunks of 128 columns, of which each of {} warps "
                             "along K takes whole runs of 64",
                             v.warps_k),
                 number(v.stage_k), "");
  reasons.unless(v.threads() <= kMaxThreads, "/tile", "a block has at most 1024 threads",
                 number(v.threads()), "");
  reasons.unless(v.stages >= 2, "/tile/stages", "a pipeline has at least two stages",
                 number(v.stages), "2 and up");
  reasons.unless(v.path != Path::kTuring || v.stages == 2, "/tile/stages",
                 "the turing path holds one stage in registers and one in shared memory",
                 number(v.stages), "2");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;

  const int shared = tiles_config(spec, layout, v).shared_bytes();
  reasons.unless(shared <= target.shared_per_block, "/tile",
                 fmt::format("the tile needs {} bytes of shared memory, {} has {} for a block",
                             shared, target.name, target.shared_per_block));
  const int registers = sum_registers(v);
  reasons.unless(registers <= kMaxSumRegisters, "/tile",
                 fmt::format("a warp's tile of {} rows by {} tokens needs {} registers for its "
                             "sums; use more warps along M or N",
                             16 * v.row_tiles(), 8 * v.token_tiles(), registers),
                 "", fmt::format("at most {}", kMaxSumRegisters));
  reasons.unless(v.split_k <= tiles_sizes(layout, v).total_stages(), "/tile/split_k",
                 "every block of a split needs a stage of K", number(v.split_k),
                 fmt::format("1 to {}", tiles_sizes(layout, v).total_stages()));
  const std::int64_t tiles_of_n = ceil_div(spec.shape.n, v.tile_n);
  reasons.unless(tiles_of_n <= kMostTilesOfN, "/tile/n",
                 fmt::format("a launch has at most {} tiles along N", kMostTilesOfN),
                 number(tiles_of_n), "more rows to a tile");
  const std::int64_t tiles = ceil_div(v.m_max, v.tile_m) * tiles_of_n;
  reasons.unless(v.split_k == 1 || tiles <= kWorkspaceCounterBytes / 4, "/tile/split_k",
                 fmt::format("M up to {} has {} output tiles, a split serves {}", v.m_max, tiles,
                             kWorkspaceCounterBytes / 4));
  return reasons.take();
}

int sum_registers(const GemmVariant& v) {
  // Two warpgroups share a row tile of wgmma.
  const int row_tiles = std::max(1, v.row_tiles());
  return (v.scale_mode == ScaleMode::kAccumulator ? 8 : 4) * row_tiles * v.token_tiles();
}

std::vector<Problem> refuse_wgmma(const GemmSpec& spec, const Target& target,
                                  const GemmVariant& v) {
  Reasons reasons;
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  const auto only = [&](const std::optional<int>& wanted, int value, const char* pointer,
                        const char* why) {
    reasons.unless(!wanted || *wanted == value, pointer, why, number(wanted.value_or(0)),
                   number(value));
  };
  const TileSpec& tile = spec.tile;
  constexpr int kTokens[] = {16, 32, 64, 96, 128, 160, 192, 256};
  reasons.unless(std::find(std::begin(kTokens), std::end(kTokens), v.tile_m) != std::end(kTokens),
                 "/tile/m", "wgmma multiplies so many tokens at a time", number(v.tile_m),
                 "16, 32, 64, 96, 128, 160, 192, 256");
  const bool shared_rows = v.tile_n == 64 && v.tile_m >= 32 && v.tile_m <= 128;
  reasons.unless(
      v.tile_n == 128 || v.tile_n == 256 || shared_rows, "/tile/n",
      "each of two warpgroups takes one or two tiles of 64 rows, each of four one, or two share "
      "one of 32 to 128 tokens",
      number(v.tile_n), "64, 128, 256");
  reasons.unless(v.stages >= 2, "/tile/stages", "a pipeline has at least two stages",
                 number(v.stages), "2 and up");
  const bool is_half = v.stage_k == 64 && wgmma_may_halve(spec, v);
  reasons.unless(is_half || v.stage_k == 128 || v.stage_k == 256 || v.stage_k == 512, "/tile/k",
                 "a stage of wgmma is one, two or four chunks of columns, or half of one where a "
                 "tile has 128 rows, 128 tokens or more and no sums of groups to scale",
                 number(v.stage_k), "64, 128, 256, 512");
  only(tile.split_k, 1, "/tile/split_k",
       "wgmma gives every block an equal share of the last tiles, or each tile to one block");
  only(tile.warps_m, v.warps_m, "/tile/warps_m", "the warps of wgmma lie along N");
  only(tile.warps_n, v.warps_n, "/tile/warps_n",
       "two warpgroups multiply, or four where their registers hold the sums");
  only(tile.warps_k, v.warps_k, "/tile/warps_k", "the warps of wgmma lie along N");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;

  reasons.unless(v.shared_bytes <= target.shared_per_block, "/tile",
                 fmt::format("the tile needs {} bytes of shared memory, {} has {} for a block",
                             v.shared_bytes, target.name, target.shared_per_block));
  reasons.unless(sum_registers(v) <= kMostWgmmaSums, "/tile",
                 fmt::format("a tile of {} rows by {} tokens needs {} registers of a thread for "
                             "its sums",
                             v.tile_n, v.tile_m, sum_registers(v)),
                 "", fmt::format("at most {}", kMostWgmmaSums));
  return reasons.take();
}

std::vector<Problem> refuse_bulk(const GemmSpec& spec, const Target& target,
                                 const WeightLayout& layout, const GemmVariant& v) {
  Reasons reasons;
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  reasons.unless(is_hopper(target), "/tile/warps_n",
                 "the tiles of the path hopper that have warps along N are for sm_90",
                 fmt::format("sm_{}", target.arch()), "sm_90");
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/path",
                 "tiles fed by bulk copies know no float zero points", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(!spec.pre_scale || spec.act_order, "/path",
                 "tiles fed by bulk copies know no pre_scale without act_order", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(v.m_max <= kMostBulkTokens, "/tile/warps_n",
                 "tiles fed by bulk copies serve few tokens", number(v.m_max),
                 fmt::format("up to {}", kMostBulkTokens));
  reasons.unless(v.tile_m % 8 == 0 && v.tile_m >= v.m_max, "/tile/m",
                 "a tile has all tokens, in tiles of 8", number(v.tile_m), "");
  reasons.unless(v.warps_m == 1, "/tile/warps_m", "every warp has all tokens", number(v.warps_m),
                 "1");
  constexpr int kMostBlocks = device::TilesConfig::kMostOfCluster;
  reasons.unless(v.split_k <= kMostBlocks, "/tile/split_k",
                 "the blocks that share K are a cluster, which has few of them", number(v.split_k),
                 fmt::format("1 to {}", kMostBlocks));
  // More threads have fewer registers than these.
  constexpr int kManyTokens = 32, kManyThreads = 256;
  const bool spills = v.tile_m > kManyTokens && v.row_tiles() > 1 &&
                      v.scale_mode == ScaleMode::kAccumulator && v.threads() > kManyThreads;
  reasons.unless(!spills, "/tile/warps_n",
                 "with so many tokens and warps the sums of a group leave a warp registers for one "
                 "tile of 16 rows",
                 number(v.warps_n), "more warps along N, or fewer along K");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;
  std::vector<Problem> problems = refuse_tile(spec, target, layout, v);
  if (!problems.empty()) return problems;
  reasons.unless(v.shared_bytes <= target.shared_per_block, "/tile",
                 fmt::format("the tile needs {} bytes of shared memory, {} has {} for a block",
                             v.shared_bytes, target.name, target.shared_per_block));
  return reasons.take();
}

}  // namespace heddle
