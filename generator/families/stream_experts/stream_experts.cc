// A layer of experts of which each has few rows: weights are streamed past the rows of one expert
// after the other.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"
#include "generator/families/stream/product.h"
#include "generator/families/stream/shape.h"
#include "generator/families/stream_experts/candidates.h"
#include "generator/families/stream_experts/cost.h"
#include "stream_experts/config.h"

namespace heddle {
namespace {

using device::MoePhase;
using device::SegmentShares;
using device::StreamConfig;
using device::StreamExpertsConfig;

static_assert(kMostAssignments == 1024, "exclusions() says so");

class StreamExperts final : public ExpertsFamilyOf<StreamExpertsConfig, Path::kHopper> {
 public:
  std::string_view name() const noexcept override { return "stream_experts"; }
  std::string_view name_suffix() const noexcept override { return "_stream"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& tokens) const override {
    std::vector<Problem> problems =
        product_exclusions(dynamic_cast<const GemmFamily&>(*stream_family()), spec, target,
                           Path::kHopper, {1, kMostStreamTokens});
    if (tokens.max * spec.moe().shape.choices() > kMostAssignments) {
      problems.push_back({"/shape/tokens/1", "a launch takes up to 1024 choices of experts",
                          std::to_string(tokens.max), "fewer tokens", ""});
    } else if (segment_tile_rows(spec.moe(), tokens).empty()) {
      problems.push_back({"/shape/tokens/0", "it serves up to 24 rows of an expert on average",
                          std::to_string(tokens.min), "fewer tokens", ""});
    }
    refuse_act_order(spec.moe(), problems);
    return problems;
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& tokens) const override {
    return stream_experts_candidates(*this, plan, tokens);
  }
  std::vector<Problem> refusals(const Plan& plan, const MRange& tokens) const override {
    if (!candidates(plan, tokens).empty()) return {};
    return {{"",
             fmt::format("a thread block of {} has no room for a tile's rows of both products",
                         plan.target.name),
             "", "", ""}};
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return stream_experts_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return stream_experts_us(plan, config_of<StreamExpertsConfig>(kernel), size.size, costs);
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    const char* const choice = plan.spec.moe().router.chooses() ? "the choice of experts, " : "";
    return {
        fmt::format("launches of {}: {}gate_up, down, the sum of a token's experts: blocks find "
                    "the rows of the experts themselves",
                    name(), choice)};
  }

  std::optional<std::string> arithmetic(const Plan& /*plan*/,
                                        const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamExpertsConfig>(kernel);
    return experts_arithmetic(stream_arithmetic(c.gate_up), stream_arithmetic(c.down),
                              kChoicesInOrder);
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamExpertsConfig>(kernel);
    const auto product = [](const StreamConfig& one, const SegmentShares& shares) {
      return fmt::format("{}x{} warps chunks {} stages {} buffers {}", shares.groups, one.warps_k,
                         one.stage_chunks, one.stages, shares.buffers);
    };
    return fmt::format("{} rows, {}, {}", c.layer.tile_rows, product(c.gate_up, c.gate_up_shares),
                       product(c.down, c.down_shares));
  }

  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& c = config_of<StreamExpertsConfig>(kernel);
    const MoePhase phase = c.phase(size.phase);
    return expert_launch(plan, kernel, c.layer, phase,
                         {c.gate_up.shape.row_blocks, c.gate_up_shared_bytes()},
                         {c.down.shape.row_blocks, c.down_shared_bytes()}, size);
  }
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t tokens) const noexcept override {
    return static_cast<std::size_t>(config_of<StreamExpertsConfig>(kernel).workspace_bytes(tokens));
  }
  std::int64_t most_size(const Plan& /*plan*/,
                         const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamExpertsConfig>(kernel);
    const auto product = [](const StreamConfig& one, const SegmentShares& shares) {
      return fmt::format(
          "{} groups of {} warps along K, stages {} of {} chunks, {} buffers of rows",
          shares.groups, one.warps_k, one.stages, one.stage_chunks, shares.buffers);
    };
    return fmt::format("tiles of {} rows of an expert; gate_up: {}; down: {}; {}",
                       c.layer.tile_rows, product(c.gate_up, c.gate_up_shares),
                       product(c.down, c.down_shares), scale_text(c.gate_up.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamExpertsConfig>(kernel);
    return fmt::format("{} s{} stream", c.layer.tile_rows, c.gate_up.stages);
  }

 private:
  std::string_view config_name() const noexcept override { return "StreamExpertsConfig"; }
  std::string_view template_path() const noexcept override {
    return "stream_experts/stream_experts.cuh";
  }
  std::string product_text(const char* name, const char* member, const GemmSpec& spec,
                           const StreamConfig& /*config*/) const override {
    return stream_product_text(name, member, spec);
  }
};

}  // namespace

const Family* stream_experts_family() {
  static const StreamExperts family;
  return &family;
}

}  // namespace heddle
