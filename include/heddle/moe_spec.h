// MoeSpec: a layer of experts, from the router's choice of experts to the sum of their outputs.
#ifndef HEDDLE_MOE_SPEC_H_
#define HEDDLE_MOE_SPEC_H_

#include <cstdint>

#include "heddle/dtype.h"
#include "heddle/export.h"
#include "heddle/gemm_spec.h"
#include "heddle/weight_spec.h"

namespace heddle {

inline constexpr std::int64_t kDefaultMaxTokens = 4096;  // shape.tokens is [1, this] when absent

struct MoeShape {
  std::int64_t hidden = 0;        // columns of X and Y
  std::int64_t intermediate = 0;  // columns between an expert's two products
  std::int64_t experts = 0;       // of the model
  std::int64_t top_k = 0;         // experts that a token chooses
  std::int64_t tokens_min = 1;
  std::int64_t tokens_max = kDefaultMaxTokens;
  // The experts whose weights this device has: `local_experts` from `first_expert` on, 0: all that
  // follow. Tokens have nothing from the others.
  std::int64_t first_expert = 0;
  std::int64_t local_experts = 0;
  // Experts besides, which every token has; all of them are on this device.
  std::int64_t shared_experts = 0;

  std::int64_t choices() const noexcept { return top_k + shared_experts; }  // experts of a token
};

// What becomes of a router's logit before experts are chosen.
enum class RouterScores {
  kNone,     // there are no logits: a launch takes ids and routing weights
  kSoftmax,  // of all logits of a token
  kSigmoid,
  kSqrtSoftplus,  // sqrt(log(1 + e^x))
};

// By what groups of experts are chosen.
enum class GroupScore {
  kMax,     // their best expert
  kTopTwo,  // the sum of their two best
};

// How a launch finds a token's ids and routing weights from its logits, in FP32. Of the experts in
// the top_groups best groups the top_k with the largest score plus bias are chosen, the largest
// first; of equal ones the lower id. Without a bias and without kTopTwo, logits are compared in
// place of scores, whose order is the same. The weight of a chosen expert e is
//   scale[e] * scaling_factor * (renormalize ? score / (sum of the chosen scores + 1e-20) : score).
// A softmax over the chosen logits alone is kSoftmax with renormalize. A NaN counts as the lowest
// logit, and infinities as the largest numbers of FP32: a token always has top_k different experts.
struct RouterSpec {
  RouterScores scores = RouterScores::kNone;
  DType logits = DType::kFp32;  // kFp32, kFp16 or kBf16
  bool renormalize = false;
  float scaling_factor = 1;
  bool correction_bias = false;  // [experts] FP32, added to what experts are chosen by
  bool expert_scales = false;    // [experts] FP32
  std::int64_t groups = 1;       // of experts / groups neighbours each
  std::int64_t top_groups = 0;   // required where there are several groups
  GroupScore group_score = GroupScore::kMax;

  bool chooses() const noexcept { return scores != RouterScores::kNone; }
};

// What a token's routing weight multiplies.
enum class RoutingWeight {
  kOutput,  // what the expert has made of the token
  kInput,   // the token: it scales the sums of the first product, ahead of the bias
};

// Y[t] = residual[t] + sum over the top_k experts e of token t of
// weight * down_e(activation(gate_up_e(X[t]))), with kInput
// down_e(activation(gate_up_e(weight * X[t]))); plus the same of the shared experts, whose weight
// is 1, with shared_gate the sigmoid of the token's gate. An id that a token names twice counts
// twice.
// Products are rounded to the activation's dtype between the two; all else is FP32, and a token's
// experts are added in an order that the kernel fixes.
struct MoeSpec {
  MoeShape shape;
  WeightSpec gate_up;  // W[gated ? 2 * intermediate : intermediate, hidden] of each expert
  WeightSpec down;     // W[hidden, intermediate] of each expert
  DType activation = DType::kFp16;  // kFp16 or kBf16: X, Y, bias and residual
  // Packed column j of an expert's gate_up is column permutation[j] of X, a permutation of its own.
  // Columns of down may be packed in any order, if the rows of gate_up are in the same.
  bool act_order = false;
  RouterSpec router;
  RoutingWeight routing_weight = RoutingWeight::kOutput;
  bool shared_gate = false;      // a launch takes a number for each token
  bool batch_invariant = false;  // a token's bits of Y do not depend on the launch's other tokens
  // What an expert does between and behind its products. Both have a bias, [local experts][N] of
  // the activation's dtype; the residual is added to Y, [tokens][hidden] of the same.
  EpilogueSpec epilogue;

  // The model's that this device has, and with them the shared ones: whose weights a launch takes.
  std::int64_t local_experts() const noexcept {
    return shape.local_experts != 0 ? shape.local_experts : shape.experts - shape.first_expert;
  }
  std::int64_t device_experts() const noexcept { return local_experts() + shape.shared_experts; }
};

// An expert's two products as gemms: what its weights are packed for. gate_up has act_order, bias,
// activation and gates, down has the bias and outputs of FP32.
struct MoeGemms {
  GemmSpec gate_up;
  GemmSpec down;
};
HEDDLE_EXPORT MoeGemms moe_gemms(const MoeSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_MOE_SPEC_H_
