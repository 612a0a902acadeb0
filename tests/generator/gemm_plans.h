// Plans of GEMMs for the tests of this folder.
#ifndef HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_
#define HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_

#include <string>

#include "generator/families/gemm_variant.h"
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

// Of the path that older GPUs have.
inline GemmSpec older_spec(std::int64_t n, std::int64_t k) {
  GemmSpec spec = small_spec();
  spec.shape.n = n;
  spec.shape.k = k;
  spec.path = Path::kAmpere;
  return spec;
}

inline Plan plan_of(const GemmSpec& spec, const char* target) {
  return resolve(Spec::from_gemm(spec), target_from_name(target));
}

inline const GemmVariant& variant_at(const Plan& plan, std::int64_t m) {
  return variant_of(plan.kernels[plan.kernel_for(m)]);
}

inline std::string refusal(const GemmSpec& spec, const char* target) {
  return refusal(Spec::from_gemm(spec), target);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_GEMM_PLANS_H_
