// Plans of GEMMs for the tests of this folder.
#ifndef HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_PLANS_H_
#define HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "generator/planner/choose.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"
#include "tests/generator/planner/plan_refusals.h"
#include "tests/planned_kernel.h"

namespace heddle {

inline GemmSpec small_spec(DType dtype = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = 4096;
  spec.shape.k = 4096;
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  return spec;
}

inline GemmSpec spec_of(std::int64_t n, std::int64_t k) {
  GemmSpec spec = small_spec();
  spec.shape.n = n;
  spec.shape.k = k;
  return spec;
}

// A spec that asks for the path of older GPUs.
inline GemmSpec older_spec(std::int64_t n, std::int64_t k) {
  GemmSpec spec = spec_of(n, k);
  spec.path = Path::kAmpere;
  return spec;
}

// Y in codes whose scales the kernel finds.
inline GemmSpec with_groups(GemmSpec spec, DType dtype) {
  spec.output = dtype;
  spec.output_scale.granularity = RowGranularity::kGroup;
  return spec;
}

// A plan by predicted times alone, whatever was measured on the target.
inline Plan plan_of(const GemmSpec& spec, const Target& target) {
  return resolve(Spec::from_gemm(spec), target, TunedTables());
}
inline Plan plan_of(const GemmSpec& spec, const char* target) {
  return plan_of(spec, target_from_name(target));
}

// The plan before kernels are chosen, as families are asked for candidates.
inline Plan unplanned(const GemmSpec& spec, const Target& target) {
  Plan plan;
  plan.spec = Spec::from_gemm(spec);
  plan.target = target;
  if (!spec.has_byte_activations() || decodes_to_bytes(spec)) {
    plan.decode = derive_decode_plan(decode_request(spec.weight, spec.activation));
  }
  plan.layout = weight_layout(spec);
  return plan;
}

// What the families offer of kernels of this kind for the spec's whole range of M, the predicted
// fastest first.
inline std::vector<PlannedKernel> candidates_of(const GemmSpec& spec, const char* target,
                                                const IsWanted& kind) {
  const Plan plan = unplanned(spec, target_from_name(target));
  std::vector<PlannedKernel> kernels;
  for (const Candidate& one : all_candidates(plan, {spec.shape.m_min, spec.shape.m_max})) {
    if (kind(one.kernel)) kernels.push_back(one.kernel);
  }
  return kernels;
}

inline const PlannedKernel& kernel_at(const Plan& plan, std::int64_t m) {
  return plan.kernels[plan.kernel_for(m)];
}

inline std::string refusal(const GemmSpec& spec, const char* target) {
  return refusal(Spec::from_gemm(spec), target);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_PLANS_H_
