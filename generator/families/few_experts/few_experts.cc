// A layer of experts for few tokens: two launches, in which weights are streamed past tokens.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "few_experts/config.h"
#include "generator/ceil_div.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/few_experts/candidates.h"
#include "generator/families/few_experts/cost.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"
#include "generator/families/stream/product.h"
#include "generator/families/stream/shape.h"

namespace heddle {
namespace {

using device::FewExpertsConfig;
using device::FewShares;
using device::MoePhase;
using device::StreamConfig;

std::string way_text(const StreamConfig& c, const FewShares& shares) {
  return fmt::format("{}x{} warps rows {} chunks {} stages {} split {}", shares.groups, c.warps_k,
                     shares.rows, c.stage_chunks, c.stages, c.split_k);
}

class FewExperts final : public ExpertsFamilyOf<FewExpertsConfig, Path::kHopper> {
 public:
  std::string_view name() const noexcept override { return "few_experts"; }
  std::string_view name_suffix() const noexcept override { return "_few"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& tokens) const override {
    std::vector<Problem> problems = product_exclusions(
        dynamic_cast<const GemmFamily&>(*stream_family()), spec, target, Path::kHopper, tokens);
    const MoeSpec& moe = spec.moe();
    const bool may_repeat = moe.shape.top_k > 1 && !moe.router.chooses();
    if (moe.routing_weight == RoutingWeight::kInput && may_repeat) {
      problems.push_back({"/routing/weight", "an expert that a token names twice has one row",
                          "\"input\"", "\"output\"", ""});
    }
    refuse_act_order(spec.moe(), problems);
    return problems;
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& tokens) const override {
    return few_experts_candidates(*this, plan, tokens);
  }
  // Another family serves them.
  std::vector<Problem> refusals(const Plan& /*plan*/, const MRange& /*tokens*/) const override {
    return {};
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return few_experts_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return few_experts_us(plan, kernel, size.size, costs);
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    const char* const choice = plan.spec.moe().router.chooses() ? "the choice of experts, " : "";
    return {
        fmt::format("launches of {}: {}gate_up, down: blocks find the chosen experts "
                    "themselves, and those of down add a token's experts",
                    name(), choice)};
  }

  std::optional<std::string> arithmetic(const Plan& /*plan*/,
                                        const PlannedKernel& kernel) const override {
    const auto& c = config_of<FewExpertsConfig>(kernel);
    return experts_arithmetic(stream_arithmetic(c.gate_up), stream_arithmetic(c.down),
                              "a token's experts in the order of their numbers");
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<FewExpertsConfig>(kernel);
    return fmt::format("{}, {}, blocks {}", way_text(c.gate_up, c.gate_up_shares),
                       way_text(c.down, c.down_shares), kernel.blocks_per_sm);
  }

  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& c = config_of<FewExpertsConfig>(kernel);
    const MoePhase phase = c.phase(size.phase);
    KernelLaunch launch;
    launch.schedule = static_cast<int>(phase);
    if (phase == MoePhase::kChoose) {
      launch.grid_x = static_cast<unsigned>(ceil_div(size.size, kernel.threads / 32));
      launch.shared_bytes = 0;
      return launch;
    }
    const bool is_down = phase == MoePhase::kDown;
    const StreamConfig& product = is_down ? c.down : c.gate_up;
    launch.grid_x = static_cast<unsigned>(product.workers);
    launch.cluster = static_cast<unsigned>(product.cluster);
    launch.shared_bytes = is_down ? c.down_shared_bytes() : c.gate_up_shared_bytes();
    return launch;
  }
  std::int64_t most_size(const Plan& /*plan*/,
                         const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t tokens) const noexcept override {
    return static_cast<std::size_t>(config_of<FewExpertsConfig>(kernel).workspace_bytes(tokens));
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<FewExpertsConfig>(kernel);
    const auto product = [](const StreamConfig& one, const FewShares& shares) {
      return fmt::format(
          "{} groups of {} warps along K, {} row blocks at once, stages {} of {} chunks",
          shares.groups, one.warps_k, shares.rows, one.stages, one.stage_chunks);
    };
    return fmt::format("gate_up: {}; down: {}, {} blocks in clusters of {}; {}",
                       product(c.gate_up, c.gate_up_shares), product(c.down, c.down_shares),
                       c.down.workers, c.down.cluster, scale_text(c.gate_up.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<FewExpertsConfig>(kernel);
    return fmt::format("{} s{} k{} few", c.gate_up.token_tiles() * kTokenTile, c.gate_up.stages,
                       c.down.split_k);
  }

 private:
  std::string_view config_name() const noexcept override { return "FewExpertsConfig"; }
  std::string_view template_path() const noexcept override { return "few_experts/few_experts.cuh"; }
  std::string product_text(const char* name, const char* member, const GemmSpec& spec,
                           const StreamConfig& /*config*/) const override {
    return stream_product_text(name, member, spec);
  }
};

}  // namespace

const Family* few_experts_family() {
  static const FewExperts family;
  return &family;
}

}  // namespace heddle
