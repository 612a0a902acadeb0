#include "generator/families/warpgroup/refuse.h"

#include <algorithm>

#include "generator/families/gemm_config.h"
#include "generator/families/scale_mode.h"
#include "generator/families/tile_fields.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/target/capabilities.h"

namespace heddle {

int sum_registers(const device::WarpgroupConfig& c) {
  // Two warpgroups share a row tile of wgmma.
  const int row_tiles = std::max(1, c.tile_n / (device::WarpgroupConfig::kRowTile * c.warpgroups));
  const int sums = 4 * row_tiles * (c.tile_m / 8);
  if (c.byte_operands) return sums + (c.promotes ? c.chunk_sum_tokens() / 2 : 0);
  // Sums of a group, or of 128 columns, of one row tile at a time.
  if (c.byte_tokens) return sums + (c.has_group_sums() ? c.tile_m / 2 : 0);
  return c.scaling.mode == ScaleMode::kAccumulator ? 2 * sums : sums;
}

bool leaves_few_registers(const device::WarpgroupConfig& c) {
  constexpr int kManySums = 160;
  return c.byte_tokens && !c.byte_operands && sum_registers(c) > kManySums;
}

namespace {

constexpr std::int64_t kFewestTokens = 9;

// Whether sums of INT8 become FP32 group by group: while they do, both forms have registers, beside
// the addresses and words of no more than one row tile.
bool converts_sums(const GemmSpec& spec, const device::WarpgroupConfig& c) {
  return spec.activation == DType::kInt8 && c.scaling.mode == ScaleMode::kGroup;
}
bool has_two_row_tiles(const device::WarpgroupConfig& c) {
  return c.tile_n == 2 * device::WarpgroupConfig::kRowTile * c.warpgroups;
}

// Chunks of a stage, at most. A stage of two has beside: both row tiles' addresses and words of
// each, or many sums that become FP32 several times a chunk or whose outputs are looked at for
// their scales; these have places of a thread, too, which a stage of four has no registers for.
int most_stage_chunks(const GemmSpec& spec, const device::WarpgroupConfig& c) {
  if (!converts_sums(spec, c)) {
    return leaves_few_registers(c) && has_two_row_tiles(c) ? 1 : c.stage_chunks;
  }
  const bool is_short = c.weights.meta_group < device::Chunk::kColumns;
  const int sums = sum_registers(c);
  if (sums > kMostShortGroupSums && (is_short || c.epilogue.finds_scales)) return 1;
  return sums == kMostShortGroupSums && c.epilogue.finds_scales ? 2 : c.stage_chunks;
}

// As far as ptxas spills nothing, with zero points and gates, too.
int most_sums(const GemmSpec& spec, const device::WarpgroupConfig& c) {
  if (c.byte_operands) return kMostByteSums;
  if (!c.byte_tokens || !c.has_group_sums() || converts_sums(spec, c)) return kMostWgmmaSums;
  return c.promotes ? kMostPromotedSums : kMostGroupSums;
}

}  // namespace

std::vector<Problem> wgmma_exclusions(const GemmSpec& spec, const Target& target, const MRange& m) {
  Reasons reasons;
  reasons.unless(
      has_wgmma(target), "", "it needs wgmma, which sm_90 alone has",
      [&] { return fmt::format("sm_{}", target.arch()); }, "sm_90");
  // Float zero points would have to meet the sums of the tokens, factors of the columns of X the
  // tokens after the tensor copy.
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/weight/zero_point",
                 "it has no float zero points", "\"float\"", "\"none\", \"int\"");
  reasons.unless(!takes_pre_scale(spec), "/activation/pre_scale",
                 "it cannot scale the columns of X", "true", "false, or act_order");
  if (spec.path != Path::kAuto && spec.path != Path::kHopper) {
    refuse_path(spec, "the spec asks for another path", "\"hopper\", \"auto\"", reasons);
  }
  // Few tokens waste most of its products, and what a tile of 16 bits is the path says. With codes
  // of eight bits, and where it finds the scales of Y, it takes any tokens and any tile.
  if (spec.has_byte_activations() || finds_output_scales(spec)) return reasons.take();
  static_assert(kFewestTokens == 9, "the next lines say so");
  reasons.unless(m.max >= kFewestTokens, "/shape/m/0", "it serves 9 tokens and more",
                 spec.shape.m_min, "9 and more");
  if (spec.path == Path::kAuto && sets_any(spec.tile)) {
    refuse_path(spec, "the spec sets a tile without the path hopper", "\"hopper\"", reasons);
  }
  return reasons.take();
}

std::vector<Problem> refuse_wgmma(const GemmSpec& spec, const Target& target,
                                  const device::WarpgroupConfig& c) {
  Reasons reasons;
  const auto only = [&](const std::optional<int>& wanted, int value, const char* pointer,
                        const char* why) {
    reasons.unless(!wanted || *wanted == value, pointer, why, wanted.value_or(0), value);
  };
  const TileSpec& tile = spec.tile;
  constexpr int kTokens[] = {16, 32, 64, 96, 128, 160, 192, 256};
  reasons.unless(std::find(std::begin(kTokens), std::end(kTokens), c.tile_m) != std::end(kTokens),
                 "/tile/m", "wgmma multiplies so many tokens at a time", c.tile_m,
                 "16, 32, 64, 96, 128, 160, 192, 256");
  reasons.unless(
      c.tile_n == 128 || c.tile_n == 256 || (c.tile_n == 64 && wgmma_shares_rows(c.tile_m)),
      "/tile/n",
      "each of two warpgroups takes one or two tiles of 64 rows, each of four one, or two share "
      "one of 32 to 128 tokens",
      c.tile_n, "64, 128, 256");
  reasons.unless(!c.epilogue.finds_scales || c.tile_n % c.scale_rows() == 0, "/tile/n",
                 "128 outputs of a token that share a scale are of one tile", c.tile_n,
                 c.epilogue.gated ? "256" : "128, 256");
  reasons.unless(!tile.stages || c.stages >= 2, "/tile/stages",
                 "a pipeline has at least two stages", c.stages, "2 and up");
  const int columns = tile.k.value_or(stage_columns(c));
  const bool is_half = columns == 64 && wgmma_may_halve(spec, c);
  const bool is_whole = columns == 128 || columns == 256 || columns == 512;
  reasons.unless(is_whole || !c.byte_tokens, "/tile/k",
                 "with tokens of eight bits a stage is one, two or four chunks of columns", columns,
                 "128, 256, 512");
  reasons.unless(is_half || is_whole || c.byte_tokens, "/tile/k",
                 "a stage of wgmma is one, two or four chunks of columns, or half of one where a "
                 "tile has 128 rows, 128 tokens or more and no sums of groups to scale",
                 columns, "64, 128, 256, 512");
  reasons.unless(!converts_sums(spec, c) || !has_two_row_tiles(c), "/tile/n",
                 "sums of groups of INT8 have registers for one row tile of a warpgroup", c.tile_n,
                 !c.epilogue.finds_scales ? "64, 128"
                 : c.epilogue.gated       ? "no tile, or four warpgroups by tile.warps_n 16"
                                          : "128");
  const int most_chunks = most_stage_chunks(spec, c);
  reasons.unless(c.stage_chunks <= most_chunks, "/tile/k",
                 most_chunks == 1
                     ? "the sums of such a tile leave registers for stages of one chunk"
                     : "the sums of such a tile leave registers for stages of two chunks",
                 columns, most_chunks == 1 ? "128" : "128, 256");
  only(tile.split_k, 1, "/tile/split_k",
       "wgmma gives every block an equal share of the last tiles, or each tile to one block");
  only(tile.warps_m, 1, "/tile/warps_m", "the warps of wgmma lie along N");
  only(tile.warps_n, 4 * c.warpgroups, "/tile/warps_n",
       "two warpgroups multiply, or four where their registers hold the sums");
  only(tile.warps_k, 1, "/tile/warps_k", "the warps of wgmma lie along N");
  if (std::vector<Problem> problems = reasons.take(); !problems.empty()) return problems;

  reasons.unless(c.stages >= 2, "/tile", [&] {
    return fmt::format(
        "two stages of {} columns of a tile of {} tokens by {} rows need more shared memory than "
        "{} has for a block",
        stage_columns(c), c.tile_m, c.tile_n, target.name);
  });
  reasons.unless(c.shared_bytes() <= target.shared_per_block, "/tile", [&] {
    return fmt::format("the tile needs {} bytes of shared memory, {} has {} for a block",
                       c.shared_bytes(), target.name, target.shared_per_block);
  });
  reasons.unless(
      sum_registers(c) <= most_sums(spec, c), "/tile",
      [&] {
        return fmt::format(
            "a tile of {} rows by {} tokens needs {} registers of a thread for "
            "its sums",
            c.tile_n, c.tile_m, sum_registers(c));
      },
      "", [&] { return fmt::format("at most {}", most_sums(spec, c)); });
  return reasons.take();
}

}  // namespace heddle
