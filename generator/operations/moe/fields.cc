// The table of moe.
#include "generator/operations/moe/moe.h"
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kMoe;

constexpr int kColumnStep = 32;  // of what a product reads; see weight_meaning.cc
constexpr int kMostExperts = 1024;
constexpr int kMostTopK = 32;
constexpr std::int64_t kAllExperts[] = {0};
constexpr std::int64_t kNoLimit[] = {0};

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
     .max = kMostTopK,
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
});

constexpr auto kMoeWeights = std::to_array<Field>({
    {.pointer = "/weight",
     .kind = FieldKind::kObject,
     .required = true,
     .doc = "how the experts' weights are quantised and stored"},
});

constexpr auto kMoeWork = std::to_array<Field>({
    {.pointer = "/routing",
     .kind = FieldKind::kObject,
     .doc = "what is done with the router's choice of experts"},
    {.pointer = "/routing/weight",
     .kind = FieldKind::kWord,
     .words = kRoutingWeightWords,
     .slot = slot<&MoeSpec::routing_weight>(),
     .doc = "what routing weights multiply: an expert's output or its input"},
    {.pointer = "/epilogue",
     .kind = FieldKind::kObject,
     .doc = "an expert is down(activation(gate_up(x))), with gates as in a gemm"},
    {.pointer = "/epilogue/bias",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &MoeEpilogueSpec::bias>(),
     .doc = "both products add vectors of activation.dtype"},
    {.pointer = "/epilogue/activation",
     .kind = FieldKind::kWord,
     .words = kActivationWords,
     .slot = slot<&MoeSpec::epilogue, &MoeEpilogueSpec::activation>(),
     .doc = "function applied after the bias; relu2: relu squared; clamped_swiglu: gpt-oss's"},
    {.pointer = "/epilogue/residual",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &MoeEpilogueSpec::residual>(),
     .doc = "add a matrix of Y's shape and type to Y"},
    {.pointer = "/epilogue/gated",
     .kind = FieldKind::kBool,
     .slot = slot<&MoeSpec::epilogue, &MoeEpilogueSpec::gated>(),
     .doc = "the first product has gates and ups"},
    {.pointer = "/epilogue/limit",
     .min = 1,
     .max = 65536,
     .also = kNoLimit,
     .silent_default = true,
     .slot = slot<&MoeSpec::epilogue, &MoeEpilogueSpec::limit>(),
     .doc = "clamped_swiglu, which requires it: bound of gates and ups"},
});

constexpr auto kMoeFields = join_fields(
    header_fields<kOp>("a layer of experts behind its router"), kMoeShape, kMoeWeights,
    weight_fields<"/weight/gate_up", &MoeSpec::gate_up>("/activation/dtype",
                                                        "of an expert's first product"),
    weight_fields<"/weight/down", &MoeSpec::down>("/activation/dtype", "of the second"),
    activation_fields<&MoeSpec::activation>("type of X, Y, biases and residual"), kMoeWork);

}  // namespace

const FieldTable& moe_fields() {
  static const MoeSpec defaults;
  static const FieldTable table{kOp, kMoeFields, &defaults};
  return table;
}

}  // namespace heddle
