// Layers of experts and their plans, for tests.
#ifndef HEDDLE_TESTS_GENERATOR_FAMILIES_EXPERT_PLANS_H_
#define HEDDLE_TESTS_GENERATOR_FAMILIES_EXPERT_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "experts/config.h"
#include "generator/families/experts/experts_family.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "tests/expert_layer.h"
#include "tests/plain_weight.h"

namespace heddle {

inline MoeSpec small_expert_layer() {
  MoeSpec spec;
  spec.shape = {.hidden = 1024, .intermediate = 512, .experts = 32, .top_k = 4};
  spec.epilogue = {.activation = Activation::kSilu, .gated = true};
  return spec;
}

inline Plan layer_plan(const MoeSpec& spec, const char* target = "h200") {
  return resolve(Spec::from_moe(spec), target_from_name(target));
}

inline const device::ExpertLayer& layer_of(const PlannedKernel& kernel) {
  return dynamic_cast<const ExpertsFamily&>(*kernel.family).layer(kernel);
}

struct NamedLayer {
  std::string name;
  MoeSpec spec;
};

// Layers of published models, and what surrounds them: many experts, few, one; every kind of
// weights.
inline std::vector<NamedLayer> expert_layers() {
  std::vector<NamedLayer> list;
  const auto add = [&](const char* name, MoeShape shape) -> MoeSpec& {
    MoeSpec spec = small_expert_layer();
    spec.shape = shape;
    list.push_back({name, spec});
    return list.back().spec;
  };
  add("many experts", {.hidden = 2048, .intermediate = 768, .experts = 128, .top_k = 8});
  MoeSpec& mxfp4 = add("MXFP4", {.hidden = 2880, .intermediate = 2880, .experts = 32, .top_k = 4});
  mxfp4.activation = DType::kBf16;
  mxfp4.router = {.scores = RouterScores::kSoftmax, .logits = DType::kBf16, .renormalize = true};
  mxfp4.gate_up.group_size = mxfp4.down.group_size = 32;
  make_gpt_oss(7, &mxfp4);
  add("one expert", {.hidden = 512, .intermediate = 256, .experts = 1, .top_k = 1});
  MoeSpec& shard = add("a shard", {.hidden = 1024,
                                   .intermediate = 512,
                                   .experts = 256,
                                   .top_k = 8,
                                   .tokens_min = 7,
                                   .tokens_max = 65536,
                                   .first_expert = 96,
                                   .local_experts = 32});
  shard.router = {.scores = RouterScores::kSigmoid,
                  .renormalize = true,
                  .scaling_factor = 2.5F,
                  .correction_bias = true,
                  .groups = 8,
                  .top_groups = 4,
                  .group_score = GroupScore::kTopTwo};
  shard.gate_up.bits = 3;
  shard.down.bits = 8;
  shard.down.zero_point = ZeroPoint::kInt;
  shard.epilogue.residual = true;
  // Their common tiles are few where a block has 99 KiB.
  MoeSpec& two_kinds =
      add("two kinds", {.hidden = 1056, .intermediate = 416, .experts = 40, .top_k = 4});
  two_kinds.activation = DType::kBf16;
  two_kinds.gate_up.bits = 3;
  two_kinds.down.bits = 8;
  two_kinds.down.zero_point = ZeroPoint::kFloat;
  two_kinds.gate_up.group_size = two_kinds.down.group_size = 32;
  two_kinds.epilogue = {.bias = true, .activation = Activation::kGelu};
  MoeSpec& plain =
      add("16 bits", {.hidden = 1024, .intermediate = 1024, .experts = 16, .top_k = 2});
  plain.activation = DType::kBf16;
  plain.gate_up = plain.down = plain_weight(DType::kBf16);
  plain.routing_weight = RoutingWeight::kInput;
  MoeSpec& nvfp4 = add("NVFP4", {.hidden = 256, .intermediate = 96, .experts = 8, .top_k = 8});
  nvfp4.gate_up.type = nvfp4.down.type = WeightType::kE2m1;
  nvfp4.gate_up.group_size = nvfp4.down.group_size = 16;
  nvfp4.gate_up.scale_dtype = nvfp4.down.scale_dtype = DType::kE4m3;
  nvfp4.gate_up.tensor_scale = nvfp4.down.tensor_scale = true;
  return list;
}

inline constexpr const char* kExpertTargets[] = {"sm_80", "sm_86", "sm_89", "h100",
                                                 "h200",  "b200",  "thor",  "sm_120"};

// Numbers of tokens at the ends of all kernels and between them.
inline std::vector<std::int64_t> some_tokens(const Plan& plan) {
  std::vector<std::int64_t> tokens;
  for (const PlannedKernel& kernel : plan.kernels) {
    tokens.push_back(kernel.size_min);
    tokens.push_back((kernel.size_min + kernel.size_max) / 2);
    tokens.push_back(kernel.size_max);
  }
  return tokens;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_FAMILIES_EXPERT_PLANS_H_
