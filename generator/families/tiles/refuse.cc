#include "generator/families/tiles/refuse.h"

#include <algorithm>

#include "generator/families/gemm_config.h"
#include "generator/families/tile_fields.h"
#include "generator/families/tiles/sums.h"
#include "generator/target/capabilities.h"

namespace heddle {

using device::Feeder;
using device::TilesConfig;

namespace {

bool wants_bulk_tile(const GemmSpec& spec) {
  return spec.path == Path::kHopper && spec.tile.warps_n.has_value();
}

// What a spec asks for the path hopper with that no tile fed by bulk copies has.
void refuse_bulk_spec(const GemmSpec& spec, Reasons& reasons) {
  const char* const allowed = "\"auto\", \"ampere\"";
  if (spec.weight.zero_point == ZeroPoint::kFloat) {
    refuse_path(spec, "tiles fed by bulk copies know no float zero points", allowed, reasons);
  }
  if (takes_pre_scale(spec)) {
    refuse_path(spec, "tiles fed by bulk copies know no pre_scale without act_order", allowed,
                reasons);
  }
}

}  // namespace

bool has_bulk_tiles(const GemmSpec& spec, const Target& target) {
  if (wants_bulk_tile(spec)) return true;
  const bool is_open =
      (spec.path == Path::kAuto || spec.path == Path::kHopper) && !sets_any(spec.tile);
  return is_open && is_hopper(target) && spec.weight.zero_point != ZeroPoint::kFloat &&
         !takes_pre_scale(spec);
}

std::vector<Problem> tiles_exclusions(const GemmSpec& spec, const Target& target, const MRange& m) {
  Reasons reasons;
  const bool has_bulk = has_bulk_tiles(spec, target);
  reasons.unless(!has_bulk || !finds_output_scales(spec), "/output/granularity",
                 "its tiles that bulk copies feed do not find the scale of 128 outputs",
                 "\"group\"", "\"tensor\", or Y of 16 bits");
  if (has_bulk && !wants_bulk_tile(spec)) {
    static_assert(kMostBulkTokens == 64, "the next line says so");
    reasons.unless(m.max <= kMostBulkTokens, "/shape/m/1",
                   "on sm_90 bulk copies feed its tiles, which then have up to 64 tokens",
                   spec.shape.m_max, "at most 64");
  }
  if (spec.path != Path::kHopper || has_bulk) return reasons.take();
  if (!is_hopper(target)) {
    refuse_path(spec, "the spec asks for the path hopper, of which it has tiles on sm_90 alone",
                "\"ampere\", \"auto\"", reasons);
    return reasons.take();
  }
  refuse_bulk_spec(spec, reasons);
  reasons.unless(!sets_any(spec.tile), "/tile/warps_n",
                 "the spec sets a tile without warps_n, which its tiles of the path hopper have",
                 "", "1 and up");
  return reasons.take();
}

MmaTile tiles_mma_tile(const TilesConfig& c) {
  constexpr int kRun = 64;  // columns
  return mma_tile(c, kRun, c.feeder == Feeder::kRegisters);
}

std::vector<Problem> refuse_tile(const TilesConfig& c, const GemmSpec& spec, const Target& target,
                                 std::int64_t m_max) {
  const MmaTile tile = tiles_mma_tile(c);
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
  refuse_bulk_spec(spec, reasons);
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
