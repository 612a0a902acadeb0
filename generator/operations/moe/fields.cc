// The table of moe.
#include <span>

#include "experts/router.h"
#include "generator/operations/moe/moe.h"
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kMoe;

constexpr int kColumnStep = 32;  // of what a product reads; see weight_meaning.cc
constexpr int kMostExperts = 1024;
constexpr std::int64_t kAllExperts[] = {0};
constexpr std::int64_t kOneGroup[] = {0};
constexpr Condition kNoLogits{"/routing/scores", std::span(kRouterScoresWords).first<1>()};

constexpr auto kMoeShape = std::to_array<Field>({
    shape_field("the sizes of the layer"),
    size_field("/shape/hidden", kColumnStep, kLargestSide,
               slot<&MoeSpec::shape, &MoeShape::hidden>(), "columns of X and Y"),
    size_field("/shape/intermediate", kColumnStep, kLargestSide,
               slot<&MoeSpec::shape, &MoeShape::intermediate>(), "columns in between"),
    {.pointer = "/shape/experts",
     .required = true,
     .min = 1,
     .max = kMostExperts,
     .slot = slot<&MoeSpec::shape, &MoeShape::experts>(),
     .doc = "experts of the model"},
    {.pointer = "/shape/top_k",
     .required = true,
     .min = 1,
     .max = kMostChoices,
     .slot = slot<&MoeSpec::shape, &MoeShape::top_k>(),
     .doc = "experts of a token"},
    {.pointer = "/shape/tokens",
     .kind = FieldKind::kTuple,
     .doc = "smallest and largest number of tokens to serve"},
    {.pointer = "/shape/tokens/0",
     .required = true,
     .min = 1,
     .max = kLargestM,
     .slot = slot<&MoeSpec::shape, &MoeShape::tokens_min>(),
     .doc = "fewest tokens"},
    {.pointer = "/shape/tokens/1",
     .required = true,
     .min = 1,
     .max = kLargestM,
     .slot = slot<&MoeSpec::shape, &MoeShape::tokens_max>(),
     .doc = "most tokens"},
    {.pointer = "/shape/first_expert",
     .min = 0,
     .max = kMostExperts - 1,
     .slot = slot<&MoeSpec::shape, &MoeShape::first_expert>(),
     .doc = "this device's first expert"},
    {.pointer = "/shape/local_experts",
     .min = 1,
     .max = kMostExperts,
     .also = kAllExperts,
     .slot = slot<&MoeSpec::shape, &MoeShape::local_experts>(),
     .doc = "0: all from the first on; others add nothing"},
    {.pointer = "/shape/shared_experts",
     .min = 0,
     .max = kMostChoices - 1,
     .silent_default = true,
     .slot = slot<&MoeSpec::shape, &MoeShape::shared_experts>(),
     .doc = "which every token has besides"},
});

constexpr auto kMoeWeights = std::to_array<Field>({
    {.pointer = "/weight",
     .kind = FieldKind::kObject,
     .required = true,
     .doc = "how the experts' weights are quantised and stored"},
});

constexpr auto kMoeRouting = std::to_array<Field>({
    {.pointer = "/routing",
     .kind = FieldKind::kObject,
     .doc = "how experts are chosen, and what is done with the choice"},
    {.pointer = "/routing/scores",
     .kind = FieldKind::kWord,
     .words = kRouterScoresWords,
     .silent_default = true,
     .slot = slot<&MoeSpec::router, &RouterSpec::scores>(),
     .doc = "of the router's logits; none: a launch takes ids and weights"},
    {.pointer = "/routing/logits_dtype",
     .kind = FieldKind::kWord,
     .words = kLogitsDTypeWords,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::logits>(),
     .doc = "their type"},
    {.pointer = "/routing/renormalize",
     .kind = FieldKind::kBool,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::renormalize>(),
     .doc = "a token's weights add up to 1"},
    {.pointer = "/routing/scaling_factor",
     .kind = FieldKind::kNumber,
     .least = 1e-4,
     .most = 1e4,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::scaling_factor>(),
     .doc = "of all weights"},
    {.pointer = "/routing/correction_bias",
     .kind = FieldKind::kBool,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::correction_bias>(),
     .doc = "FP32, added to scores for the choice alone"},
    {.pointer = "/routing/expert_scales",
     .kind = FieldKind::kBool,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::expert_scales>(),
     .doc = "an FP32 factor for each expert (Gemma 4)"},
    {.pointer = "/routing/groups",
     .min = 1,
     .max = device::RouterConfig::kMostGroups,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::groups>(),
     .doc = "of neighbouring experts"},
    {.pointer = "/routing/top_groups",
     .min = 1,
     .max = device::RouterConfig::kMostGroups,
     .also = kOneGroup,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::top_groups>(),
     .doc = "of a token; required with several groups"},
    {.pointer = "/routing/group_score",
     .kind = FieldKind::kWord,
     .words = kGroupScoreWords,
     .no_field_where = &kNoLogits,
     .slot = slot<&MoeSpec::router, &RouterSpec::group_score>(),
     .doc = "a group's best expert, or the sum of two"},
    {.pointer = "/routing/shared_gate",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&MoeSpec::shared_gate>(),
     .doc = "a sigmoid of a launch's shared_gates weighs shared experts, which else weigh 1"},
    {.pointer = "/routing/weight",
     .kind = FieldKind::kWord,
     .words = kRoutingWeightWords,
     .slot = slot<&MoeSpec::routing_weight>(),
     .doc = "what routing weights multiply: an expert's output or its input"},
});

constexpr auto kMoeWork = std::to_array<Field>({
    {.pointer = "/epilogue",
     .kind = FieldKind::kObject,
     .doc = "an expert is down(activation(gate_up(x))), with gates as in a gemm"},
    {.pointer = "/epilogue/bias",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &EpilogueSpec::bias>(),
     .doc = "both products add vectors of activation.dtype"},
    activation_function_field<&MoeSpec::epilogue>(),
    {.pointer = "/epilogue/residual",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &EpilogueSpec::residual>(),
     .doc = "add a matrix of Y's shape and type to Y"},
    {.pointer = "/epilogue/gated",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &EpilogueSpec::gated>(),
     .doc = "the first product has gates and ups"},
    limit_field<&MoeSpec::epilogue>(),
    gate_limit_field<&MoeSpec::epilogue>(),
});

constexpr auto kMoeOrder = std::to_array<Field>({
    {.pointer = "/activation/act_order",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&MoeSpec::act_order>(),
     .doc = "packed column j of an expert's gate_up meets column permutation[j] of X (GPTQ)"},
});

constexpr auto kMoeFields = join_fields(
    header_fields<kOp>("a layer of experts behind its router"), kMoeShape, kMoeWeights,
    weight_fields<"/weight/gate_up", &MoeSpec::gate_up>("/activation/dtype",
                                                        "of an expert's first product"),
    weight_fields<"/weight/down", &MoeSpec::down>("/activation/dtype", "of the second"),
    activation_fields<&MoeSpec::activation>("type of X, Y, biases and residual"), kMoeOrder,
    kMoeRouting, kMoeWork, batch_invariant_fields<&MoeSpec::batch_invariant>());

}  // namespace

const FieldTable& moe_fields() {
  static const MoeSpec defaults;
  static const FieldTable table{kOp, kMoeFields, &defaults};
  return table;
}

}  // namespace heddle
