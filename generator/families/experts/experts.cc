// A layer of experts: their rows, two products, the sum.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "experts/config.h"
#include "generator/decode/decode_text.h"
#include "generator/decode/requests.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/candidates.h"
#include "generator/families/experts/launches.h"
#include "generator/families/experts/products.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_family.h"
#include "generator/families/kernel_name.h"
#include "generator/families/scale_mode.h"
#include "generator/families/value_type.h"
#include "generator/operations/moe/moe.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ExpertsConfig;
using device::TilesConfig;

const GemmFamily& tiles_of_gemms() { return dynamic_cast<const GemmFamily&>(*tiles_family()); }

// A product's configuration as that of a GEMM: a struct and the classes that its kernel names.
std::string product_text(const char* name, const char* member, const GemmSpec& spec) {
  std::string text = fmt::format(
      "struct {} {{\n  static constexpr TilesConfig value = Config::value.{};\n", name, member);
  for (const std::string& alias : gemm_aliases(spec)) text += "  " + alias + '\n';
  return text + "  using Mma = MmaAmpere;\n};\n";
}

std::string decode_in(const char* space, const DecodePlan& decode, const char* config) {
  return fmt::format("namespace {} {{\n{}}}  // namespace {}\n", space,
                     decode_text(decode, fmt::format("{}::Value", config)), space);
}

std::string tile_of(const TilesConfig& c) {
  return fmt::format("{}x{}x{} s{}", c.tile_m, c.tile_n, c.stage_k, c.stages);
}

class Experts final : public Family {
 public:
  std::string_view name() const noexcept override { return "experts"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*tokens*/) const override {
    std::vector<Problem> problems;
    if (!has_async_copies(target)) {
      problems.push_back({"", fmt::format("no kernel of experts serves target {}", target.name),
                          fmt::format("sm_{}", target.arch()), "sm_80 and up", ""});
      return problems;
    }
    const auto add = [&](GemmSpec gemm, const char* weight) {
      gemm.path = Path::kAmpere;  // of the tiles that the kernel has
      for (Problem& problem : as_moe_problems(
               tiles_of_gemms().exclusions_for(gemm, target, {1, gemm.shape.m_max}), weight)) {
        problems.push_back(std::move(problem));
      }
    };
    add(gate_up_gemm(spec.moe()), "/weight/gate_up");
    add(down_gemm(spec.moe()), "/weight/down");
    return problems;
  }

  void prepare(Plan& plan) const override {
    const MoeSpec& moe = plan.spec.moe();
    plan.decode = derive_decode_plan(decode_request(moe.gate_up, moe.activation));
    plan.layout = weight_layout(gate_up_gemm(moe));
  }

  std::vector<std::int64_t> steps(const Plan& /*plan*/, const MRange& tokens) const override {
    return token_steps(tokens.min, tokens.max);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& tokens) const override {
    return experts_candidates(*this, plan, tokens);
  }

  std::vector<Problem> refusals(const Plan& plan, const MRange& tokens) const override {
    if (!experts_candidates(*this, plan, tokens).empty()) return {};
    return {{"", fmt::format("no tile of both products has room on {}", plan.target.name), "", "",
             ""}};
  }

  void complete(const Plan& plan, PlannedKernel& candidate) const override {
    candidate.configuration =
        make_configuration(completed(plan, config_of<ExpertsConfig>(candidate)));
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const override {
    const MoeSpec& moe = plan.spec.moe();
    const std::string gate_up = weight_name(moe.gate_up);
    const std::string down = weight_name(moe.down);
    return fmt::format("heddle_moe_{}{}_{}_h{}_i{}_e{}_k{}_t{}_{}", gate_up,
                       gate_up == down ? "" : '_' + down, to_string(moe.activation),
                       moe.shape.hidden, moe.shape.intermediate, moe.local_experts(),
                       moe.shape.top_k, kernel.size_min, kernel.size_max);
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return experts_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return experts_us(plan, kernel, size.size, costs);
  }

  std::string label(const PlannedKernel& kernel) const override {
    const TilesConfig& c = config_of<ExpertsConfig>(kernel).gate_up;
    return fmt::format("{}x{}x{} warps {}x{}x{} stages {} blocks {}", c.tile_m, c.tile_n, c.stage_k,
                       c.warps_m, c.warps_n, c.warps_k, c.stages, kernel.blocks_per_sm);
  }

  std::vector<std::string> common_reasons(const Plan& plan) const override {
    const MoeSpec& moe = plan.spec.moe();
    const ExpertGemms expert = gemms_of_expert(plan);
    return {fmt::format("four launches: rows of {} experts, gate_up, down, the sum of {} experts of "
                        "a token",
                        moe.local_experts(), moe.shape.top_k),
            fmt::format("weights of an expert: gate_up {} bytes, down {} bytes",
                        expert.gate_up.layout.total_bytes, expert.down.layout.total_bytes),
            fmt::format("workspace: {} bytes for {} tokens", plan.max_workspace_bytes(),
                        moe.shape.tokens_max)};
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<ExpertsConfig>(kernel);
    const ExpertGemms expert = gemms_of_expert(plan);
    const std::vector<DecodePlan> decodes = decode_plans(plan, kernel);
    KernelText text;
    text.template_path = "experts/experts.cuh";
    text.decisions = fmt::format("{}\n\ndecode plan: {}", describe(kernel),
                                 heddle::describe(decodes.front()));
    text.definitions =
        families::config_struct(
            "ExpertsConfig", config,
            {"using Value = " + value_type(plan.spec.moe().activation) + ';'}) +
        product_text("GateUp", "gate_up", expert.gate_up.spec) +
        product_text("Down", "down", expert.down.spec) + '\n' +
        decode_in("gate_up", decodes.front(), "GateUp") +
        decode_in("down", decodes.back(), "Down");
    text.function =
        "experts<heddle::Config, heddle::GateUp, heddle::gate_up::Decode, heddle::Down, "
        "heddle::down::Decode>";
    text.parameter_type = "MoeParameters";
    return text;
  }

  std::vector<DecodePlan> decode_plans(const Plan& plan,
                                       const PlannedKernel& kernel) const override {
    const auto& config = config_of<ExpertsConfig>(kernel);
    const ExpertGemms expert = gemms_of_expert(plan);
    return {decode_plan_of(expert.gate_up.request(), config.gate_up.scaling.mode),
            decode_plan_of(expert.down.request(), config.down.scaling.mode)};
  }

  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    return moe_launch(plan, kernel, size.size, static_cast<device::MoePhase>(size.phase));
  }

  std::int64_t size_step(const PlannedKernel& /*kernel*/) const noexcept override { return 0; }
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    return std::max(kernel.size_max, plan.spec.moe().shape.tokens_max);
  }

  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t size) const noexcept override {
    return static_cast<std::size_t>(config_of<ExpertsConfig>(kernel).workspace_bytes(size));
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
    return tile_of(config_of<ExpertsConfig>(kernel).gate_up);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<ExpertsConfig>(kernel));
  }
};

}  // namespace

const Family* experts_family() {
  static const Experts family;
  return &family;
}

}  // namespace heddle
