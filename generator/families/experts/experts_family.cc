#include "generator/families/experts/experts_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "generator/decode/decode_text.h"
#include "generator/decode/requests.h"
#include "generator/families/gemm_family.h"
#include "generator/families/kernel_name.h"
#include "generator/families/shared_memory.h"
#include "generator/operations/moe/moe.h"

namespace heddle {

using device::ExpertLayer;
using device::MoePhase;

namespace {

// A decode plan as a struct in a namespace: `config` is the one whose values it decodes to.
std::string decode_in(const char* space, const DecodePlan& decode, const char* config) {
  return fmt::format("namespace {} {{\n{}}}  // namespace {}\n", space,
                     decode_text(decode, fmt::format("{}::Value", config)), space);
}

// What a kernel's name says of all that changes its text.
std::string router_name(const RouterSpec& router) {
  std::string name = fmt::format("_{}_{}", to_string(router.scores), to_string(router.logits));
  if (router.correction_bias) name += "_correction";
  if (router.groups > 1) {
    name +=
        fmt::format("_{}of{}_{}", router.top_groups, router.groups, to_string(router.group_score));
  }
  if (router.renormalize) name += "_renorm";
  if (router.expert_scales) name += "_escales";
  if (router.scaling_factor != 1) {
    // As many digits as tell it from every other FP32.
    std::string factor = fmt::format("_x{}", router.scaling_factor);
    std::replace(factor.begin(), factor.end(), '.', 'p');
    name += factor;
  }
  return name;
}

device::LogitType logit_type(DType dtype) {
  if (dtype == DType::kFp16) return device::LogitType::kFp16;
  return dtype == DType::kBf16 ? device::LogitType::kBf16 : device::LogitType::kFp32;
}

}  // namespace

std::string experts_arithmetic(const std::string& gate_up, const std::string& down,
                               std::string_view order_of_experts) {
  const std::string products =
      gate_up == down ? gate_up : fmt::format("gate_up {}; down {}", gate_up, down);
  return fmt::format("{}; {}", products, order_of_experts);
}

device::RouterConfig router_config(const MoeSpec& moe) {
  const RouterSpec& router = moe.router;
  if (!router.chooses()) return {};
  device::RouterConfig config{};
  config.experts = static_cast<int>(moe.shape.experts);
  config.scores = router.scores;
  config.logits = logit_type(router.logits);
  config.renormalize = router.renormalize;
  config.scaling_bits = std::bit_cast<int>(router.scaling_factor);
  config.correction_bias = router.correction_bias;
  config.expert_scales = router.expert_scales;
  config.groups = static_cast<int>(router.groups);
  config.top_groups = static_cast<int>(router.top_groups);
  config.group_score = router.group_score;
  return config;
}

KernelText layer_text(const Family& family, const PlannedKernel& kernel,
                      const std::vector<DecodePlan>& decodes, const std::string& configurations) {
  const std::string of_gate_up = describe(decodes.front());
  const std::string of_down = describe(decodes.back());
  KernelText text;
  text.decisions = fmt::format("{}\n\ndecode plan: {}", family.describe(kernel), of_gate_up);
  if (of_down != of_gate_up) text.decisions += fmt::format("\n\ndecode plan of down: {}", of_down);
  text.definitions = configurations + '\n' + decode_in("gate_up", decodes.front(), "GateUp") +
                     decode_in("down", decodes.back(), "Down");
  text.function = fmt::format(
      "{}<heddle::Config, heddle::GateUp, heddle::gate_up::Decode, heddle::Down, "
      "heddle::down::Decode>",
      family.name());
  text.parameter_type = "MoeParameters";
  return text;
}

void ExpertsFamily::prepare(Plan& plan) const {
  const MoeSpec& moe = plan.spec.moe();
  plan.decode = derive_decode_plan(decode_request(moe.gate_up, moe.activation));
  plan.layout = weight_layout(gate_up_gemm(moe));
}

std::vector<std::int64_t> ExpertsFamily::steps(const Plan& /*plan*/, const MRange& tokens) const {
  return token_steps(tokens.min, tokens.max);
}

std::string ExpertsFamily::kernel_name(const Plan& plan, const PlannedKernel& kernel) const {
  const MoeSpec& moe = plan.spec.moe();
  const std::string gate_up = weight_name(moe.gate_up);
  const std::string down = weight_name(moe.down);
  std::string name = fmt::format("heddle_moe_{}{}_{}{}", gate_up, gate_up == down ? "" : '_' + down,
                                 to_string(moe.activation), epilogue_name(gate_up_gemm(moe)));
  if (moe.epilogue.residual) name += "_residual";
  if (moe.routing_weight == RoutingWeight::kInput) name += "_weighted_input";
  name += fmt::format("_h{}_i{}_e{}", moe.shape.hidden, moe.shape.intermediate, moe.shape.experts);
  if (moe.local_experts() != moe.shape.experts) {
    name += fmt::format("_from{}to{}", moe.shape.first_expert,
                        moe.shape.first_expert + moe.local_experts() - 1);
  }
  if (moe.act_order) name += "_act_order";
  if (moe.shape.shared_experts > 0) {
    name += fmt::format("_shared{}{}", moe.shape.shared_experts, moe.shared_gate ? "gated" : "");
  }
  if (moe.router.chooses()) name += router_name(moe.router);
  return fmt::format("{}_k{}_t{}_{}{}", name, moe.shape.top_k, kernel.size_min, kernel.size_max,
                     name_suffix());
}

std::vector<Problem> ExpertsFamily::refusals(const Plan& plan, const MRange& tokens) const {
  if (!candidates(plan, tokens).empty()) return {};
  return {
      {"", fmt::format("no tile of both products has room on {}", plan.target.name), "", "", ""}};
}

std::vector<std::string> ExpertsFamily::common_reasons(const Plan& plan) const {
  const MoeSpec& moe = plan.spec.moe();
  const ExpertGemms expert = gemms_of_expert(plan, Path::kAuto);
  return {fmt::format("weights of an expert: gate_up {} bytes, down {} bytes",
                      expert.gate_up.layout.total_bytes, expert.down.layout.total_bytes),
          fmt::format("workspace: {} bytes for {} tokens", plan.max_workspace_bytes(),
                      moe.shape.tokens_max)};
}

std::vector<std::string> ExpertsFamily::reasons(const Plan& plan) const {
  const MoeSpec& moe = plan.spec.moe();
  return {
      fmt::format("launches of {}: {}the rows of {} experts, gate_up, down, the sum of a "
                  "token's {} experts",
                  name(), moe.router.chooses() ? "the choice of experts, " : "",
                  moe.device_experts(), moe.shape.choices())};
}

ExpertLayer expert_layer(const Plan& plan, int tile_rows, bool gathers) {
  const MoeSpec& moe = plan.spec.moe();
  const ExpertGemms expert = gemms_of_expert(plan, Path::kAuto);
  ExpertLayer layer{};
  layer.hidden = static_cast<int>(moe.shape.hidden);
  layer.intermediate = static_cast<int>(moe.shape.intermediate);
  layer.first_expert = static_cast<int>(moe.shape.first_expert);
  layer.local_experts = static_cast<int>(moe.local_experts());
  layer.shared_experts = static_cast<int>(moe.shape.shared_experts);
  layer.top_k = static_cast<int>(moe.shape.top_k);
  layer.shared_gate = moe.shared_gate;
  layer.weighs_input = moe.routing_weight == RoutingWeight::kInput;
  layer.residual = moe.epilogue.residual;
  layer.gathers = gathers || moe.act_order;
  layer.act_order = moe.act_order;
  layer.tile_rows = tile_rows;
  layer.gate_up_bytes = static_cast<device::i64>(expert.gate_up.layout.total_bytes);
  layer.down_bytes = static_cast<device::i64>(expert.down.layout.total_bytes);
  layer.router = router_config(moe);
  return layer;
}

std::vector<Problem> product_exclusions(const GemmFamily& gemms, const Spec& spec,
                                        const Target& target, Path path, const MRange& rows) {
  std::vector<Problem> problems;
  const auto add = [&](GemmSpec gemm, const char* weight) {
    gemm.path = path;
    for (Problem& problem : as_moe_problems(gemms.exclusions_for(gemm, target, rows), weight)) {
      const bool is_known = std::any_of(problems.begin(), problems.end(), [&](const Problem& one) {
        return one.pointer == problem.pointer && one.message == problem.message;
      });
      if (!is_known) problems.push_back(std::move(problem));
    }
  };
  add(gate_up_gemm(spec.moe()), "/weight/gate_up");
  add(down_gemm(spec.moe()), "/weight/down");
  return problems;
}

void refuse_act_order(const MoeSpec& moe, std::vector<Problem>& problems) {
  if (!moe.act_order) return;
  problems.push_back({"/activation/act_order", "it reads the columns of tokens in their order",
                      "true", "false", ""});
}

KernelLaunch expert_launch(const Plan& plan, const PlannedKernel& kernel, const ExpertLayer& layer,
                           MoePhase phase, const ProductLaunch& gate_up, const ProductLaunch& down,
                           const LaunchSize& size) noexcept {
  const std::int64_t tokens = size.size;
  const std::int64_t resident = std::int64_t{plan.target.sm_count} * kernel.blocks_per_sm;
  // `warps` warps of work.
  const auto blocks_for = [&](std::int64_t warps) {
    return std::min(resident, ceil_div(warps, kernel.threads / 32));
  };
  const auto blocks_of = [&](const ProductLaunch& product) {
    return std::min<std::int64_t>(resident, layer.most_tiles(tokens) * product.row_sets);
  };
  std::int64_t blocks = 1;
  int shared_bytes = 0;
  switch (phase) {
    case MoePhase::kChoose:
      blocks = blocks_for(tokens);
      break;
    case MoePhase::kRoute:
      blocks = std::min<std::int64_t>(resident, layer.experts());
      // Several blocks share an expert's tokens.
      if (layer.gathers) blocks *= std::clamp<std::int64_t>(resident / layer.experts(), 1, tokens);
      shared_bytes = layer.route_shared_bytes();
      break;
    case MoePhase::kGateUp:
      blocks = blocks_of(gate_up);
      shared_bytes = gate_up.shared_bytes;
      break;
    case MoePhase::kDown:
      blocks = blocks_of(down);
      shared_bytes = down.shared_bytes;
      break;
    case MoePhase::kSum:
      // One block of each SM, even if a few had room for all warps.
      blocks =
          std::min(resident, tokens * ceil_div(layer.hidden, layer.sum_columns(kernel.threads)));
      break;
  }
  KernelLaunch launch;
  launch.grid_x = static_cast<unsigned>(blocks);
  launch.schedule = static_cast<int>(phase);
  launch.shared_bytes = shared_bytes;
  return launch;
}

}  // namespace heddle
