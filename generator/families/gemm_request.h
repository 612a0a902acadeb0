// GemmRequest: what a family of GEMMs has to know of a product of tokens and packed weights,
// whichever operation asks for it.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_REQUEST_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_REQUEST_H_

#include "generator/decode/decode_plan.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Refers to what it was made of, which outlives it.
struct GemmRequest {
  const GemmSpec& spec;
  const Target& target;
  const DecodePlan& decode;
  const WeightLayout& layout;
};

// Precondition: the plan is one of a gemm.
inline GemmRequest gemm_request(const Plan& plan) {
  return {plan.spec.gemm(), plan.target, plan.decode, plan.layout};
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_REQUEST_H_
