// A router's logits, and in FP64 what they choose: RouterSpec has the rules.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_CHOICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// What a launch takes besides logits; each empty where the spec has none.
struct RouterVectors {
  std::vector<float> correction_bias;  // [experts]
  std::vector<float> expert_scales;    // [experts]
};
RouterVectors random_router_vectors(const MoeSpec& spec, std::uint32_t seed);

// A token's choice.
struct RouterChoice {
  std::vector<std::int32_t> ids;
  std::vector<double> weights;
  // False where scores, of experts or of groups, that decide about it differ by so little that a
  // kernel's rounding may decide otherwise.
  bool is_certain = true;
};
// `logits`: [experts], numbers that the spec's type holds, NaN or infinities.
RouterChoice router_choice(const MoeSpec& spec, const RouterVectors& vectors, const double* logits);

// Logits of tokens as the spec's type has them, and certain choices.
struct RoutedTokens {
  std::vector<std::uint8_t> logits;  // [tokens][experts]
  std::vector<std::int32_t> ids;     // [tokens][top_k]
  std::vector<float> weights;        // [tokens][top_k]
};
// Draws logits until their choice is certain. `preferences`: [experts], added to the logits of
// each; `alike`: all tokens have the same.
RoutedTokens routed_tokens(const MoeSpec& spec, const RouterVectors& vectors, std::int64_t tokens,
                           const std::vector<double>& preferences, bool alike, std::uint32_t seed);

// For each token what shared experts are weighed by; empty where the spec has no gate.
std::vector<float> random_shared_gates(const MoeSpec& spec, std::int64_t tokens,
                                       std::uint32_t seed);

// Of each expert of this device a permutation of X's columns; empty where the spec has none.
std::vector<std::int32_t> random_orders(const MoeSpec& spec, std::uint32_t seed);
// The token's columns as an expert's weights meet them. `orders`: of all experts, or empty.
std::vector<std::uint16_t> in_order_of(const MoeSpec& spec, const std::vector<std::int32_t>& orders,
                                       std::int64_t expert, const std::uint16_t* token);

// What a launch computes for a token: an expert of this device, by its place in the stack of
// weights, and its weight.
struct ExpertUse {
  std::int64_t token = 0;
  std::int64_t expert = 0;
  double weight = 1;
};
// In the order of tokens, of a token that of its choices, behind which shared experts follow. `ids`
// and `weights`: [tokens][top_k].
std::vector<ExpertUse> expert_uses(const MoeSpec& spec, const std::vector<std::int32_t>& ids,
                                   const std::vector<float>& weights,
                                   const std::vector<float>& shared_gates);

// Numbers as the spec's type of logits has them, and back.
std::vector<std::uint8_t> stored_logits(DType dtype, const std::vector<double>& values);
std::vector<double> logit_values(DType dtype, const std::vector<std::uint8_t>& stored);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_CHOICE_H_
