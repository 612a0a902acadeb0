// GEMM by wgmma: weights in registers of warpgroups, tokens by tensor copies.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/scale_mode.h"
#include "generator/families/warpgroup/arithmetic.h"
#include "generator/families/warpgroup/candidates.h"
#include "generator/families/warpgroup/cost.h"
#include "generator/families/warpgroup/kernel.h"
#include "generator/families/warpgroup/refuse.h"
#include "generator/families/warpgroup/shares.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/spec/byte_meaning.h"

namespace heddle {
namespace {

// How blocks share the K of tiles.
const char* sharing_text(const WarpgroupKernel& c) {
  if (!c.shares_tiles()) return "";
  if (!c.has_one_token_tile()) return ", which share the K of the last tiles where that is faster";
  return c.shares_in_pairs() ? ", which share the K of each tile in pairs"
                             : ", which share the K of the last tiles";
}
const char* way_text(const WarpgroupKernel& c) {
  if (!c.shares_tiles()) return " alone";
  if (!c.has_one_token_tile()) return "";
  return c.shares_in_pairs() ? " in pairs" : " in parts";
}

// The class that takes a tile's sums to Y.
const char* end_policy(device::TileEnd end) {
  switch (end) {
    case device::TileEnd::kFloats:
      break;
    case device::TileEnd::kRounded:
      return "WgmmaRoundedEnd";
    case device::TileEnd::kTokenRows:
      return "WgmmaTokenRowsEnd";
    case device::TileEnd::kFoundScales:
      return "WgmmaFoundScales";
    case device::TileEnd::kFoundRows:
      return "WgmmaFoundRows";
    case device::TileEnd::kFoundTokens:
      return "WgmmaFoundTokens";
  }
  return "WgmmaFloatEnd";
}

// What the operands, their products and the sums are.
std::vector<std::string> sum_aliases(const GemmSpec& spec) {
  if (!spec.has_byte_activations()) {
    return {"using Products = HalfProducts<Value>;", "using Sums = FloatSums;"};
  }
  const std::string_view tokens = token_codes(spec.activation);
  const bool is_int8 = spec.activation == DType::kInt8;
  const std::string_view sums = sums_of_codes(spec);
  if (decodes_to_bytes(spec)) {
    return {fmt::format("using Products = ByteProducts<{}, {}>;",
                        is_int8 ? "Int8Codes" : "E4m3Codes", tokens),
            fmt::format("using Sums = {};", sums)};
  }
  return {fmt::format("using WeightCodes = {};", weight_codes(spec.weight.type)),
          fmt::format("using TokenCodes = {};", tokens), fmt::format("using Sums = {};", sums)};
}

class Warpgroup final : public GemmFamilyOf<WarpgroupKernel> {
 public:
  std::string_view name() const noexcept override { return "warpgroup"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    const GemmSpec& spec = gemm_request(plan).spec;
    std::vector<std::string> aliases = gemm_aliases(spec);
    aliases.emplace_back("using Schedule = SharedTiles<WgmmaShape<Config>>;");
    aliases.push_back(fmt::format("using End = {}<Config>;", end_policy(c.tile_end())));
    for (std::string& alias : sum_aliases(spec)) aliases.push_back(std::move(alias));
    std::string config =
        families::config_struct<device::WarpgroupConfig>("WarpgroupConfig", c, aliases);
    if (c.byte_operands()) {
      return {"warpgroup/bytes.cuh",
              describe(kernel),
              std::move(config),
              c.scales_blocks() ? "gemm_wgmma_blocks<heddle::Config>"
                                : "gemm_wgmma_bytes<heddle::Config>",
              {}};
    }
    return c.byte_tokens()
               ? gemm_text(plan, kernel, "warpgroup/decoded_bytes.cuh", config,
                           "gemm_wgmma_decoded")
               : gemm_text(plan, kernel, "warpgroup/warpgroup.cuh", config, "gemm_wgmma");
  }
  bool multiplies_bytes() const noexcept override { return true; }

  // The schedule is the number of tiles that several thread blocks share.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const WgmmaShares shares =
        wgmma_shares(gemm_request(plan), config_of<WarpgroupKernel>(kernel), size.size);
    return {static_cast<unsigned>(shares.workers), 1, 1, static_cast<unsigned>(shares.cluster),
            shares.shared_tiles};
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return config_of<WarpgroupKernel>(kernel).tile_m;
  }

  // The sums of shared tiles, two places for each thread block, behind the counters.
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t /*size*/) const noexcept override {
    const auto& config = config_of<WarpgroupKernel>(kernel);
    if (!config.shares_tiles()) return kWorkspaceCounterBytes;
    return kWorkspaceCounterBytes +
           static_cast<std::size_t>(2 * 4) * config.workers * config.tile_m * config.tile_n;
  }
  std::size_t workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                              std::int64_t size) const noexcept override {
    const WgmmaShares shares =
        wgmma_shares(gemm_request(plan), config_of<WarpgroupKernel>(kernel), size);
    return shares.needs_workspace() ? reserved_workspace_bytes(plan, kernel, size) : 0;
  }
  // Tiles may be shared for some M alone.
  std::size_t max_workspace_bytes(const Plan& plan,
                                  const PlannedKernel& kernel) const noexcept override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    const bool always_in_pairs = c.shares_in_pairs() && c.has_one_token_tile();
    return c.shares_tiles() && !always_in_pairs
               ? reserved_workspace_bytes(plan, kernel, kernel.size_max)
               : 0;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    return fmt::format("{} warpgroups, tile {} tokens x {} rows, stages {} of {} columns{}{}, {}",
                       c.warpgroups, c.tile_m, c.tile_n, c.stages, stage_columns(c),
                       c.cluster > 1 ? ", whose pairs read tokens once" : "", sharing_text(c),
                       scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    return fmt::format("{}x{}x{} s{}", c.tile_m, c.tile_n, stage_columns(c), c.stages);
  }

  std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& target,
                                      const MRange& m) const override {
    return wgmma_exclusions(spec, target, m);
  }
  bool owns_tiles_without_path() const noexcept override { return true; }
  std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                            const MRange& m) const override {
    return warpgroup_candidates(gemm, m);
  }
  std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const override {
    return warpgroup_refusals(gemm, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return warpgroup_cost_parameters();
  }
  double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                          Costs costs) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    return wgmma_launch_us(gemm, c, m, costs, wgmma_shares_clocks(gemm, c, m, costs));
  }

  std::optional<std::string> arithmetic_for(const GemmRequest& gemm,
                                            const PlannedKernel& kernel) const override {
    if (adds_integers(gemm.spec)) return std::string(kIntegerArithmetic);
    return wgmma_arithmetic(gemm, config_of<WarpgroupKernel>(kernel));
  }

  Path path(const PlannedKernel& /*kernel*/) const noexcept override { return Path::kHopper; }

  std::string name_of_any_shape(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    std::string name = fmt::format("wgmma {}{}{}", tile_text(kernel),
                                   c.cluster > 1 ? " pairs of tokens" : "", way_text(c));
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
  }

  // 2: labels say how tiles of all tokens are shared; 3: launches share others.
  int version() const noexcept override { return 3; }
  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    return fmt::format("{} {}x{}x{} stages {}{}", c.cluster > 1 ? "pairs of tokens" : "tiles",
                       c.tile_m, c.tile_n, stage_columns(c), c.stages, way_text(c));
  }
};

}  // namespace

const Family* warpgroup_family() {
  static const Warpgroup warpgroup;
  return &warpgroup;
}

}  // namespace heddle
