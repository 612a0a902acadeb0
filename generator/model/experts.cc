#include "generator/model/experts.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "generator/model/config_value.h"
#include "generator/operations/moe/moe.h"
#include "generator/spec/document.h"
#include "generator/spec/error_place.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr double kClampFactor = 1.702;  // of Activation::kClampedSwiglu
constexpr double kMostClampLimit = 65536;

bool is_whole(double limit) {
  return limit == std::floor(limit) && limit >= 1 && limit <= kMostClampLimit;
}

void set_situ(const ModelExperts& experts, EpilogueSpec* epilogue, std::string* why) {
  const double limit = experts.clamp_limit;
  if (!epilogue->gated) {
    *why = "its experts have no gates, which situ takes";
  } else if (!is_whole(experts.gate_limit) || (limit != 0 && !is_whole(limit))) {
    *why =
        "kernels of experts bound the gates and ups of situ by whole numbers, but the config "
        "says " +
        plain(experts.gate_limit) + " and " + plain(limit);
  }
  epilogue->activation = Activation::kSitu;
  epilogue->limit = why->empty() ? static_cast<int>(limit) : 0;
  epilogue->gate_limit = why->empty() ? static_cast<int>(experts.gate_limit) : 0;
}

// `activation`: the family's, of experts that clamp ahead of it.
void set_clamped(const ModelExperts& experts, const std::string& activation, EpilogueSpec* epilogue,
                 std::string* why) {
  const double limit = experts.clamp_limit;
  const bool is_plain = experts.clamp_factor == 0;
  if (!epilogue->gated) {
    *why = "its experts clamp gates that they do not have";
  } else if (is_plain && gate_activation(activation) != Activation::kSilu) {
    *why = "kernels of experts clamp gates of silu, and the config's activation is \"" +
           excerpt(activation) + '"';
  } else if (!is_whole(limit)) {
    *why = fmt::format(
        "kernels of experts clamp gates and ups to a whole number from 1 to {}, but the config "
        "says {}",
        kMostClampLimit, limit);
  } else if (!is_plain && experts.clamp_factor != kClampFactor) {
    *why =
        "kernels of experts that clamp multiply gates by 1.702 in their sigmoid, but the config "
        "says " +
        plain(experts.clamp_factor);
  }
  epilogue->activation = is_plain ? Activation::kSilu : Activation::kClampedSwiglu;
  epilogue->limit = why->empty() ? static_cast<int>(limit) : 0;
}

std::optional<RouterScores> scores_named(const std::string& scoring) {
  if (scoring == "softmax") return RouterScores::kSoftmax;
  if (scoring == "sigmoid") return RouterScores::kSigmoid;
  if (scoring == "sqrtsoftplus") return RouterScores::kSqrtSoftplus;
  return std::nullopt;
}

// Behind a projection of their own routed experts have another width.
bool is_shared_residual(const ModelExperts& experts) {
  return experts.shared > 0 && experts.latent == 0 && experts.plain_shared;
}

}  // namespace

const char* const kExpertsTakeSixteenBits = "kernels of experts take 16 bits";
const char* const kExpertsUnscaled =
    "columns of X have factors (pre_quant_scale), which no kernel of experts takes";

bool ExpertModules::is_gated() const {
  return first.size() == 2 || (first.size() == 1 && first[0].row->role == Role::kGateUp);
}

ExpertModules expert_modules(const DecodedBlock& block) {
  ExpertModules modules;
  for (const DecodedLinear& linear : block.linears) {
    if (linear.row->module != Module::kExpert) continue;
    (linear.row->role == Role::kDown ? modules.down : modules.first).push_back(linear);
  }
  return modules;
}

MoeSpec moe_of_block(const Decoder& decoder, const DecodedBlock& block, std::string* why) {
  const ModelExperts& experts = block.facts.experts;
  const ExpertModules modules = expert_modules(block);
  MoeSpec spec;
  spec.shape.experts = experts.count;
  spec.shape.top_k = experts.per_token;
  if (experts.weighs_input) spec.routing_weight = RoutingWeight::kInput;
  EpilogueSpec& epilogue = spec.epilogue;
  epilogue.gated = modules.is_gated();
  epilogue.residual = is_shared_residual(experts);
  if (modules.first.empty() || modules.first.size() > 2 || modules.down.size() != 1) {
    *why = "its experts are not a first product and a second one";
  } else if (decoder.gate.activation == "situ") {
    set_situ(experts, &epilogue, why);
  } else if (experts.clamp_limit != 0) {
    set_clamped(experts, decoder.gate.activation, &epilogue, why);
  } else if (!experts.plain_gate) {
    *why = "its experts have more between their matrices than activation(gate) * up";
  } else if (const auto activation = gate_activation(decoder.gate.activation)) {
    epilogue.activation = *activation;
  } else {
    *why = "no kernel of experts has the activation \"" + excerpt(decoder.gate.activation) + '"';
  }
  return spec;
}

std::optional<Spec> routed_moe(const ModelExperts& experts, MoeSpec moe, const std::string& name) {
  const std::optional<RouterScores> scores = scores_named(experts.scoring);
  if (!experts.routed || experts.hashed || !scores) return std::nullopt;
  RouterSpec& router = moe.router;
  router.scores = *scores;
  router.renormalize = experts.normalised;
  router.scaling_factor = static_cast<float>(experts.scale);
  router.correction_bias = experts.bias;
  router.expert_scales = experts.expert_scales;
  if (experts.groups > 1) {
    router.groups = experts.groups;
    router.top_groups = experts.groups_per_token;
    router.group_score = experts.bias ? GroupScore::kTopTwo : GroupScore::kMax;
  }
  if (!why_no_moe(moe).empty()) return std::nullopt;
  return Spec::from_moe(moe, name);
}

std::string why_no_moe(const MoeSpec& spec) {
  try {
    static_cast<void>(Spec::from_moe(spec));
    const std::vector<Problem> problems = check_meaning(spec);
    if (problems.empty()) return {};
    throw Error(ErrorCategory::kSpec, "spec", problems);
  } catch (const Error& error) {
    return problem_line(error);
  }
}

std::string shared_experts_note(const ModelExperts& experts) {
  if (experts.shared == 0) return {};
  std::string note = "shared experts are a gate_up and a down of their own, dense layers";
  if (experts.shared_gate) note += "; their output is multiplied by a sigmoid of their gate";
  if (is_shared_residual(experts)) {
    return note + ": their output is the residual of the experts' kernel";
  }
  return note + (experts.plain_shared
                     ? ": their output is added behind the experts' projection"
                     : ": their output is added behind the norms of both, not by the kernel");
}

}  // namespace heddle
