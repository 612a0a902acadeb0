// A layer of experts whose products are made by wgmma.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/arithmetic.h"
#include "generator/families/warpgroup/kernel.h"
#include "generator/families/warpgroup/stage.h"
#include "generator/families/warpgroup_experts/cost.h"
#include "warpgroup_experts/config.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;
using device::WarpgroupExpertsConfig;

constexpr Path kPath = Path::kHopper;
constexpr std::int64_t kFewestRows = 9;  // of a GEMM with wgmma
// Of more a lane of the choice has more than 16 logits, whose scores spill in 96 registers.
constexpr std::int64_t kMostRoutedExperts = 512;

const GemmFamily& warpgroups() { return dynamic_cast<const GemmFamily&>(*warpgroup_family()); }

// Each block has whole tiles, whose rows may be those of the last tile of an expert.
WarpgroupKernel of_expert(const ExpertGemm& expert, WarpgroupKernel kernel) {
  kernel.shape = weight_shape(expert.spec, expert.layout);
  kernel.tokens = std::numeric_limits<int>::max();
  kernel.settle();
  return kernel;
}

// The products' candidates with whole tiles, of so many rows.
std::vector<WarpgroupKernel> tiles_of(const ExpertGemm& layer, const ExpertGemm& expert,
                                      int tile_rows) {
  ExpertGemm gemm = layer;
  gemm.spec.tile.split_k = 1;
  std::vector<WarpgroupKernel> tiles;
  for (const PlannedKernel& one :
       warpgroups().candidates_for(gemm.request(), {tile_rows, tile_rows})) {
    const auto& kernel = config_of<WarpgroupKernel>(one);
    if (kernel.tile_m != tile_rows || kernel.cluster != 1) continue;
    tiles.push_back(of_expert(expert, kernel));
  }
  return tiles;
}

class WarpgroupExperts final : public ExpertsFamilyOf<WarpgroupExpertsConfig, kPath> {
 public:
  std::string_view name() const noexcept override { return "warpgroup_experts"; }
  std::string_view name_suffix() const noexcept override { return "_wgmma"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*tokens*/) const override {
    std::vector<Problem> problems =
        product_exclusions(warpgroups(), spec, target, kPath,
                           {kFewestRows, std::max(kFewestRows, spec.moe().shape.tokens_max)});
    const MoeSpec& moe = spec.moe();
    if (moe.router.chooses() && moe.shape.experts > kMostRoutedExperts) {
      problems.push_back({"/routing/scores", "its threads have no registers for so many logits",
                          std::to_string(moe.shape.experts) + " experts",
                          "\"none\", or up to " + std::to_string(kMostRoutedExperts) + " experts",
                          ""});
    }
    if (moe.routing_weight == RoutingWeight::kInput) {
      problems.push_back({"/routing/weight", "its first product has no routing weights",
                          "\"input\"", "\"output\"", ""});
    }
    return problems;
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& tokens) const override {
    std::vector<PlannedKernel> kernels;
    const ExpertGemms expert = gemms_of_expert(plan, kPath);
    for (const int tile_rows :
         useful_tile_rows(plan, tokens.max, {16, 32, 64, 96, 128, 192, 256}, 2, 4)) {
      const ExpertGemms layer = gemms_of_layer(plan, kPath, tokens.max, tile_rows);
      const std::vector<WarpgroupKernel> downs = tiles_of(layer.down, expert.down, tile_rows);
      for (const WarpgroupKernel& gate_up : tiles_of(layer.gate_up, expert.gate_up, tile_rows)) {
        for (const WarpgroupKernel& down : downs) {
          if (gate_up.warpgroups != down.warpgroups || gate_up.tile_n != down.tile_n) continue;
          kernels.push_back(kernel_of(plan, tokens, gate_up, down));
        }
      }
    }
    return kernels;
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return warpgroup_experts_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return warpgroup_experts_us(plan, config_of<WarpgroupExpertsConfig>(kernel), size.size, costs);
  }

  std::optional<std::string> arithmetic(const Plan& /*plan*/,
                                        const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupExpertsConfig>(kernel);
    return experts_arithmetic(wgmma_block_arithmetic(c.gate_up), wgmma_block_arithmetic(c.down),
                              kChoicesInOrder);
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupExpertsConfig>(kernel);
    const auto stages = [](const WarpgroupConfig& one) {
      return fmt::format("{} of {}", one.stages, stage_columns(one));
    };
    return fmt::format("{}x{} stages {}, {}", c.gate_up.tile_m, c.gate_up.tile_n, stages(c.gate_up),
                       stages(c.down));
  }

  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& c = config_of<WarpgroupExpertsConfig>(kernel);
    return expert_launch(plan, kernel, c.layer, c.layer.phase(size.phase),
                         {ceil_div(c.gate_up_shape.n, c.gate_up.tile_n), c.gate_up.shared_bytes()},
                         {ceil_div(c.down_shape.n, c.down.tile_n), c.down.shared_bytes()}, size);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupExpertsConfig>(kernel);
    return fmt::format(
        "{} warpgroups, tiles of {} rows of an expert x {} rows of weights, stages {} of {} "
        "columns, {} of {}, {}",
        c.gate_up.warpgroups, c.gate_up.tile_m, c.gate_up.tile_n, c.gate_up.stages,
        stage_columns(c.gate_up), c.down.stages, stage_columns(c.down),
        scale_text(c.gate_up.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<WarpgroupExpertsConfig>(kernel).gate_up;
    return fmt::format("{}x{}x{} s{} w", c.tile_m, c.tile_n, stage_columns(c), c.stages);
  }

 private:
  std::string_view config_name() const noexcept override { return "WarpgroupExpertsConfig"; }
  std::string_view template_path() const noexcept override {
    return "warpgroup_experts/warpgroup_experts.cuh";
  }
  std::string product_text(const char* name, const char* member, const GemmSpec& spec,
                           const WarpgroupConfig& config) const override {
    std::string text = fmt::format(
        "struct {0} {{\n  static constexpr WarpgroupConfig value = Config::value.{1};\n"
        "  static constexpr WeightShape kShape = Config::value.{1}_shape;\n"
        "  static constexpr i64 kExpertBytes = Config::value.layer.{1}_bytes;\n",
        name, member);
    for (const std::string& alias : gemm_aliases(spec)) text += "  " + alias + '\n';
    const bool rounds = config.tile_end() == device::TileEnd::kRounded;
    return text + fmt::format(
                      "  using Schedule = ListedTiles<WarpgroupExpertTiles<{0}>>;\n"
                      "  using End = {1}<{0}>;\n"
                      "  using Products = HalfProducts<Value>;\n"
                      "  using Sums = FloatSums;\n}};\n",
                      name, rounds ? "WgmmaRoundedEnd" : "WgmmaFloatEnd");
  }

  PlannedKernel kernel_of(const Plan& plan, const MRange& tokens, const WarpgroupKernel& gate_up,
                          const WarpgroupKernel& down) const {
    WarpgroupExpertsConfig config{};
    config.layer = expert_layer(plan, gate_up.tile_m, true);
    config.gate_up = gate_up;
    config.down = down;
    // Nothing but the second product's weights can be fetched before the previous launch has ended.
    config.gate_up.stages_ahead = 1;
    config.down.stages_ahead = down.stages;
    config.gate_up_shape = gate_up.shape;
    config.down_shape = down.shape;
    PlannedKernel kernel = expert_kernel(*this, plan.target, tokens, config, config.layer.phases());
    kernel.box_tokens = device::box_rows(config.gate_up.tile_m);
    kernel.arguments = {KernelArgument::kTokenMap, KernelArgument::kParameters,
                        KernelArgument::kSchedule};
    return kernel;
  }
};

}  // namespace

const Family* warpgroup_experts_family() {
  static const WarpgroupExperts family;
  return &family;
}

}  // namespace heddle
