// A layer of experts: their rows, two products, the sum.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experts/config.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/candidates.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/experts/products.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"
#include "generator/families/tiles/arithmetic.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ExpertsConfig;
using device::TilesConfig;

class Experts final : public ExpertsFamilyOf<ExpertsConfig, Path::kAmpere> {
 public:
  std::string_view name() const noexcept override { return "experts"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*tokens*/) const override {
    if (!has_async_copies(target)) {
      return {{"", fmt::format("no kernel of experts serves target {}", target.name),
               fmt::format("sm_{}", target.arch()), "sm_80 and up", ""}};
    }
    return product_exclusions(dynamic_cast<const GemmFamily&>(*tiles_family()), spec, target,
                              Path::kAmpere, {1, spec.moe().shape.tokens_max});
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& tokens) const override {
    return experts_candidates(*this, plan, tokens);
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return experts_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return experts_us(plan, kernel, size.size, costs);
  }

  std::optional<std::string> arithmetic(const Plan& /*plan*/,
                                        const PlannedKernel& kernel) const override {
    const auto& c = config_of<ExpertsConfig>(kernel);
    return experts_arithmetic(tiles_arithmetic(c.gate_up), tiles_arithmetic(c.down),
                              kChoicesInOrder);
  }

  std::string label(const PlannedKernel& kernel) const override {
    const TilesConfig& c = config_of<ExpertsConfig>(kernel).gate_up;
    return fmt::format("{}x{}x{} warps {}x{}x{} stages {} blocks {}", c.tile_m, c.tile_n, c.stage_k,
                       c.warps_m, c.warps_n, c.warps_k, c.stages, kernel.blocks_per_sm);
  }

  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& c = config_of<ExpertsConfig>(kernel);
    const auto row_sets = [](const TilesConfig& tile) {
      return device::ceil_div(tile.shape.n, tile.tile_n);
    };
    return expert_launch(plan, kernel, c.layer, c.layer.phase(size.phase),
                         {row_sets(c.gate_up), c.gate_up_shared_bytes()},
                         {row_sets(c.down), c.down_shared_bytes()}, size);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const TilesConfig& c = config_of<ExpertsConfig>(kernel).gate_up;
    return fmt::format(
        "tiles of {} rows of an expert x {} rows of weights, stages {} of {} columns, warps M {} x "
        "N {} x K {}, {}",
        c.tile_m, c.tile_n, c.stages, c.stage_k, c.warps_m, c.warps_n, c.warps_k,
        scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const TilesConfig& c = config_of<ExpertsConfig>(kernel).gate_up;
    return fmt::format("{}x{}x{} s{}", c.tile_m, c.tile_n, c.stage_k, c.stages);
  }

 private:
  std::string_view config_name() const noexcept override { return "ExpertsConfig"; }
  std::string_view template_path() const noexcept override { return "experts/experts.cuh"; }
  std::string product_text(const char* name, const char* member, const GemmSpec& spec,
                           const TilesConfig& /*config*/) const override {
    std::string text = fmt::format(
        "struct {} {{\n  static constexpr TilesConfig value = Config::value.{};\n", name, member);
    for (const std::string& alias : gemm_aliases(spec)) text += "  " + alias + '\n';
    return text + "  using Mma = MmaAmpere;\n};\n";
  }
};

}  // namespace

const Family* experts_family() {
  static const Experts family;
  return &family;
}

}  // namespace heddle
