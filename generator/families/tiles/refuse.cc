#include "generator/families/tiles/refuse.h"

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "generator/families/tiles/candidates.h"
#include "generator/families/tiles/sums.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::Feeder;
using device::TilesConfig;

constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMostTilesOfN = 65535;  // the grid's second dimension
// Sums, partial sums and fragments beyond this many registers spill.
constexpr int kMaxSumRegisters = 160;

}  // namespace

std::vector<Problem> refuse_tile(const TilesConfig& c, const GemmSpec& spec, const Target& target,
                                 std::int64_t m_max) {
  Reasons reasons;
  reasons.unless(
      c.tile_m % (8 * c.warps_m) == 0, "/tile/m",
      [&] {
        return fmt::format("each of {} warps along M takes whole tiles of 8 tokens", c.warps_m);
      },
      c.tile_m, [&] { return fmt::format("multiples of {}", 8 * c.warps_m); });
  reasons.unless(
      c.tile_n % (16 * c.warps_n) == 0, "/tile/n",
      [&] {
        return fmt::format("each of {} warps along N takes whole tiles of 16 rows", c.warps_n);
      },
      c.tile_n, [&] { return fmt::format("multiples of {}", 16 * c.warps_n); });
  reasons.unless(
      c.stage_k % 128 == 0 && c.stage_k % (64 * c.warps_k) == 0, "/tile/k",
      [&] {
        return fmt::format(
            "a stage is whole chunks of 128 columns, of which each of {} warps "
            "along K takes whole runs of 64",
            c.warps_k);
      },
      c.stage_k, "");
  reasons.unless(c.stage_k <= kMostTileStageColumns, "/tile/k",
                 "a stage of a tile has fewer columns", c.stage_k,
                 [] { return fmt::format("up to {}", kMostTileStageColumns); });
  reasons.unless(c.threads() <= kMaxThreads, "/tile", "a block has at most 1024 threads",
                 c.threads(), "");
  reasons.unless(c.stages >= 2, "/tile/stages", "a pipeline has at least two stages", c.stages,
                 "2 and up");
  reasons.unless(c.feeder != Feeder::kRegisters || c.stages == 2, "/tile/stages",
                 "the turing path holds one stage in registers and one in shared memory", c.stages,
                 "2");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;

  const int shared = c.shared_bytes();
  reasons.unless(shared <= target.shared_per_block, "/tile", [&] {
    return fmt::format(
        "a tile of m {}, n {}, k {} and {} stages needs {} bytes of shared memory, {} has {} for a "
        "block",
        c.tile_m, c.tile_n, c.stage_k, c.stages, shared, target.name, target.shared_per_block);
  });
  const int registers = sum_registers(c);
  reasons.unless(
      registers <= kMaxSumRegisters, "/tile",
      [&] {
        return fmt::format(
            "a warp's tile of {} rows by {} tokens needs {} registers for its "
            "sums; use more warps along M or N",
            16 * c.row_tiles(), 8 * c.token_tiles(), registers);
      },
      "", [&] { return fmt::format("at most {}", kMaxSumRegisters); });
  // The shortest stage has one chunk, where the spec sets none.
  const int most_split = spec.tile.k ? c.total_stages() : c.shape.chunks;
  reasons.unless(c.split_k <= c.total_stages(), "/tile/split_k",
                 "every block of a split needs a stage of K", c.split_k,
                 [&] { return fmt::format("1 to {}", most_split); });
  const std::int64_t tiles_of_n = ceil_div(c.shape.n, c.tile_n);
  reasons.unless(
      tiles_of_n <= kMostTilesOfN, "/tile/n",
      [&] { return fmt::format("a launch has at most {} tiles along N", kMostTilesOfN); },
      tiles_of_n, "more rows to a tile");
  const std::int64_t tiles = ceil_div(m_max, c.tile_m) * tiles_of_n;
  reasons.unless(c.split_k == 1 || tiles <= kWorkspaceCounterBytes / 4, "/tile/split_k", [&] {
    return fmt::format("M up to {} has {} output tiles, a split serves {}", m_max, tiles,
                       kWorkspaceCounterBytes / 4);
  });
  return reasons.take();
}

std::vector<Problem> refuse_bulk(const TilesConfig& c, const GemmSpec& spec, const Target& target,
                                 std::int64_t m_max) {
  Reasons reasons;
  reasons.unless(
      is_hopper(target), "/tile/warps_n",
      "the tiles of the path hopper that have warps along N are for sm_90",
      [&] { return fmt::format("sm_{}", target.arch()); }, "sm_90");
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/path",
                 "tiles fed by bulk copies know no float zero points", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(!spec.pre_scale || spec.act_order, "/path",
                 "tiles fed by bulk copies know no pre_scale without act_order", "\"hopper\"",
                 "\"auto\", \"ampere\"");
  reasons.unless(m_max <= kMostBulkTokens, "/tile/warps_n",
                 "tiles fed by bulk copies serve few tokens", m_max,
                 [&] { return fmt::format("up to {}", kMostBulkTokens); });
  reasons.unless(c.tile_m % 8 == 0 && c.tile_m >= m_max, "/tile/m",
                 "a tile has all tokens, in tiles of 8", c.tile_m, "");
  reasons.unless(c.warps_m == 1, "/tile/warps_m", "every warp has all tokens", c.warps_m, "1");
  // Each has an SM to itself.
  const int most_blocks = std::min(TilesConfig::kMostOfCluster, target.sm_count);
  reasons.unless(c.split_k <= most_blocks, "/tile/split_k",
                 "the blocks that share K are a cluster, which has few of them", c.split_k,
                 [&] { return fmt::format("1 to {}", most_blocks); });
  const bool spills = c.scaling.mode == ScaleMode::kAccumulator && !has_room_for_bulk_sums(c);
  reasons.unless(!spills, "/tile/warps_n",
                 "with so many tokens and warps the sums of a group leave a warp registers for one "
                 "tile of 16 rows",
                 c.warps_n, "more warps along N, or fewer along K");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;
  return refuse_tile(c, spec, target, m_max);
}

}  // namespace heddle
