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
  std::int64_t top_k = 0;         // experts of a token
  std::int64_t tokens_min = 1;
  std::int64_t tokens_max = kDefaultMaxTokens;
  // The experts whose weights this device has: `local_experts` from `first_expert` on, 0: all that
  // follow. Tokens have nothing from the others.
  std::int64_t first_expert = 0;
  std::int64_t local_experts = 0;
};

// What an expert does between and behind its products: EpilogueSpec's activation, gated, limit.
struct MoeEpilogueSpec {
  bool bias = false;  // both products have one: [local experts][N] of the activation's dtype
  Activation activation = Activation::kNone;
  bool residual = false;  // added to Y: [tokens][hidden] of the activation's dtype
  bool gated = false;
  int limit = 0;
};

// What a token's routing weight multiplies.
enum class RoutingWeight {
  kOutput,  // what the expert has made of the token
  kInput,   // the token: it scales the sums of the first product, ahead of the bias
};

// Y[t] = residual[t] + sum over the top_k experts e of token t of
// weight * down_e(activation(gate_up_e(X[t]))), with kInput
// down_e(activation(gate_up_e(weight * X[t]))). An id that a token names twice counts twice.
// Products are rounded to the activation's dtype between the two; all else is FP32, and a token's
// experts are added in the order in which its ids name them.
struct MoeSpec {
  MoeShape shape;
  WeightSpec gate_up;  // W[gated ? 2 * intermediate : intermediate, hidden] of each expert
  WeightSpec down;     // W[hidden, intermediate] of each expert
  DType activation = DType::kFp16;  // kFp16 or kBf16: X, Y, bias and residual
  RoutingWeight routing_weight = RoutingWeight::kOutput;
  MoeEpilogueSpec epilogue;

  // Of the weights that this device has.
  std::int64_t local_experts() const noexcept {
    return shape.local_experts != 0 ? shape.local_experts : shape.experts - shape.first_expert;
  }
};

// An expert's two products as gemms: what its weights are packed for. gate_up has bias, activation
// and gates, down has the bias and outputs of FP32.
struct MoeGemms {
  GemmSpec gate_up;
  GemmSpec down;
};
HEDDLE_EXPORT MoeGemms moe_gemms(const MoeSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_MOE_SPEC_H_
