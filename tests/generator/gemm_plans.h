// Plans of GEMMs for the tests of this folder.
#ifndef HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_
#define HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_

#include <string>

#include "heddle/plan.h"
#include "tests/generator/plan_refusals.h"

namespace heddle {

inline GemmSpec small_spec(DType dtype = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = 4096;
  spec.shape.k = 4096;
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  return spec;
}

inline Plan plan_of(const GemmSpec& spec, const char* target) {
  return resolve(Spec::from_gemm(spec), target_from_name(target));
}

inline std::string refusal(const GemmSpec& spec, const char* target) {
  return refusal(Spec::from_gemm(spec), target);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_
