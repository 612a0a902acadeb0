// Plans of the operations on weights, and what is refused of them.
#ifndef HEDDLE_TESTS_GENERATOR_FAMILIES_WEIGHT_OP_PLANS_H_
#define HEDDLE_TESTS_GENERATOR_FAMILIES_WEIGHT_OP_PLANS_H_

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {

// The weights of a GEMM.
inline WeightOpSpec weight_op_of(const GemmSpec& gemm) {
  WeightOpSpec spec;
  spec.shape = {gemm.shape.n, gemm.shape.k};
  spec.weight = gemm.weight;
  spec.gated = gemm.epilogue.gated;
  return spec;
}

inline Plan weight_op_plan(Op op, const WeightOpSpec& spec, const char* target = "h200") {
  return resolve(Spec::from_weight_op(op, spec), target_from_name(target));
}

inline Pointers refused_fields(Op op, const WeightOpSpec& spec, const char* target = "h200") {
  return refused_fields(Spec::from_weight_op(op, spec), target);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_FAMILIES_WEIGHT_OP_PLANS_H_
