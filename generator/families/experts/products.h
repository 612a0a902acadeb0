// The two products of a layer of experts as GEMMs by tiles: what a candidate's halves are asked and
// predicted as.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_

#include <cstdint>

#include "generator/families/gemm_request.h"
#include "heddle/inspect/plan.h"
#include "heddle/weights.h"

namespace heddle {

// A product as a GEMM, with what a GemmRequest refers to.
struct ExpertGemm {
  GemmSpec spec;
  WeightLayout layout;
  DecodePlan decode;
  const Target* target;

  GemmRequest request() const { return {spec, *target, decode, layout}; }
};

struct ExpertGemms {
  ExpertGemm gate_up;
  ExpertGemm down;
  std::int64_t rows;  // of the tokens of an expert that is hit
};

// The products of one expert.
ExpertGemms gemms_of_expert(const Plan& plan);
// The products of all experts that so many tokens hit, as if their weights were one matrix: it has
// the bytes, the tiles and the operations of the launch. Every expert that is hit has the same
// number of rows.
ExpertGemms gemms_of_layer(const Plan& plan, std::int64_t tokens);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_PRODUCTS_H_
