// GEMM by wgmma: weights in registers of warpgroups, tokens by tensor copies.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/warpgroup/candidates.h"
#include "generator/families/warpgroup/cost.h"
#include "generator/families/warpgroup/kernel.h"
#include "generator/families/warpgroup/shares.h"
#include "generator/families/warpgroup/stage.h"

namespace heddle {
namespace {

// How blocks share the K of tiles.
const char* sharing_text(const WarpgroupKernel& c) {
  if (!c.shares_tiles) return "";
  if (!c.has_one_token_tile()) return ", which share the K of the last tiles where that is faster";
  return c.shares_in_pairs ? ", which share the K of each tile in pairs"
                           : ", which share the K of the last tiles";
}
const char* way_text(const WarpgroupKernel& c) {
  if (!c.shares_tiles) return " alone";
  if (!c.has_one_token_tile()) return "";
  return c.shares_in_pairs ? " in pairs" : " in parts";
}

class Warpgroup final : public GemmFamilyOf<WarpgroupKernel> {
 public:
  std::string_view name() const noexcept override { return "warpgroup"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    std::vector<std::string> aliases = gemm_aliases(plan.spec.gemm());
    aliases.emplace_back("using Schedule = SharedTiles<WgmmaShape<Config>>;");
    return gemm_text(plan, kernel, "warpgroup/warpgroup.cuh",
                     families::config_struct<device::WarpgroupConfig>(
                         "WarpgroupConfig", config_of<WarpgroupKernel>(kernel), aliases),
                     "gemm_wgmma");
  }

  // The schedule is the number of tiles that several thread blocks share.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const WgmmaShares shares = wgmma_shares(plan, config_of<WarpgroupKernel>(kernel), size.size);
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
    if (!config.shares_tiles) return kWorkspaceCounterBytes;
    return kWorkspaceCounterBytes +
           static_cast<std::size_t>(2 * 4) * config.workers * config.tile_m * config.tile_n;
  }
  std::size_t workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                              std::int64_t size) const noexcept override {
    const WgmmaShares shares = wgmma_shares(plan, config_of<WarpgroupKernel>(kernel), size);
    return shares.needs_workspace() ? reserved_workspace_bytes(plan, kernel, size) : 0;
  }
  // Tiles may be shared for some M alone.
  std::size_t max_workspace_bytes(const Plan& plan,
                                  const PlannedKernel& kernel) const noexcept override {
    const auto& c = config_of<WarpgroupKernel>(kernel);
    const bool always_in_pairs = c.shares_in_pairs && c.has_one_token_tile();
    return c.shares_tiles && !always_in_pairs
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

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    return warpgroup_candidates(plan, m);
  }
  std::vector<Problem> refusals(const Plan& plan, const MRange& m) const override {
    return warpgroup_refusals(plan, m);
  }
  std::string why_none(const Plan& plan, const MRange& m) const override {
    return why_no_warpgroup(plan, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return warpgroup_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m,
                      Costs costs) const override {
    return warpgroup_us(plan, kernel, m, costs);
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
