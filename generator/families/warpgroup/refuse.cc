#include "generator/families/warpgroup/refuse.h"

#include <algorithm>

#include "generator/families/gemm_config.h"
#include "generator/families/scale_mode.h"
#include "generator/families/tile_fields.h"
#include "generator/families/warpgroup/registers.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/target/capabilities.h"

namespace heddle {

namespace {

constexpr std::int64_t kFewestTokens = 9;

// The values of a field with which this tile fits the registers, all else as it is; "" if none.
template <class Set>
std::string fitting(const GemmSpec& spec, const device::WarpgroupConfig& c,
                    std::initializer_list<int> values, const Set& set) {
  std::string text;
  for (const int value : values) {
    device::WarpgroupConfig one = c;
    set(one, value);
    if (!wgmma_fits_registers(spec, one)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
  }
  return text;
}

// Names the field that is the least to change: the columns of a stage, else the rows of the tile.
void refuse_registers(const GemmSpec& spec, const device::WarpgroupConfig& c, Reasons& reasons) {
  if (wgmma_fits_registers(spec, c)) return;
  const std::string message = fmt::format(
      "a tile of {} rows by {} tokens with stages of {} columns needs {} registers of a thread, "
      "which "
      "has {}",
      c.tile_n, c.tile_m, stage_columns(c), wgmma_registers(spec, c), kWgmmaRegisters);
  const std::string columns =
      fitting(spec, c, {128, 256, 512}, [](device::WarpgroupConfig& one, int value) {
        one.stage_chunks = value / device::Chunk::kColumns;
      });
  if (!columns.empty()) return reasons.unless(false, "/tile/k", message, stage_columns(c), columns);
  const std::string rows =
      fitting(spec, c, {64, 128}, [&](device::WarpgroupConfig& one, int value) {
        const bool shares = value == device::WarpgroupConfig::kRowTile;
        const bool holds_groups = !c.epilogue.finds_scales || value % c.scale_rows() == 0;
        if (holds_groups && (!shares || wgmma_shares_rows(c.tile_m))) one.tile_n = value;
      });
  if (!rows.empty()) return reasons.unless(false, "/tile/n", message, c.tile_n, rows);
  reasons.unless(false, "/tile/m", message, c.tile_m, "fewer tokens");
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
  // Few tokens of a batch-invariant spec may need the kernels that many have.
  reasons.unless(m.max >= kFewestTokens || spec.batch_invariant, "/shape/m/0",
                 "it serves 9 tokens and more", spec.shape.m_min, "9 and more");
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
  reasons.unless(is_whole || !c.byte_tokens(), "/tile/k",
                 "with tokens of eight bits a stage is one, two or four chunks of columns", columns,
                 "128, 256, 512");
  reasons.unless(is_half || is_whole || c.byte_tokens(), "/tile/k",
                 "a stage of wgmma is one, two or four chunks of columns, or half of one where a "
                 "tile has 128 rows, 128 tokens or more and no sums of groups to scale",
                 columns, "64, 128, 256, 512");
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
  refuse_registers(spec, c, reasons);
  return reasons.take();
}

}  // namespace heddle
