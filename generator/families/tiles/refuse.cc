#include "generator/families/tiles/refuse.h"

#include <algorithm>

#include "generator/families/mma_tile.h"
#include "generator/families/tiles/sums.h"
#include "generator/target/capabilities.h"

namespace heddle {

using device::Feeder;
using device::TilesConfig;

std::vector<Problem> refuse_tile(const TilesConfig& c, const GemmSpec& spec, const Target& target,
                                 std::int64_t m_max) {
  constexpr int kRun = 64;  // columns
  const MmaTile tile = mma_tile(c, kRun, c.feeder == Feeder::kRegisters);
  std::vector<Problem> problems = refuse_warps(tile);
  if (!problems.empty()) return problems;
  return refuse_tile_size(tile, c.shared_bytes(), sum_registers(c), spec, target, m_max);
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
