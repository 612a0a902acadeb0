// The plan of a case whose kernel is run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
#define HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_

#include <stdexcept>
#include <string>

#include "generator/families/gemm_variant.h"
#include "generator/planner/choose.h"
#include "heddle/plan.h"

namespace heddle {

// For an H200 with so many SMs: the fastest kernel of that kind for all M of the spec, of wgmma's
// the fastest whose blocks read their tokens alone. Throws if there is none.
inline Plan plan_of_one(const Spec& spec, const std::string& name, GemmKernel kernel,
                        int sm_count) {
  Target target = target_from_name("h200");
  target.sm_count = sm_count;
  Plan plan = resolve(spec, target);
  const GemmShape& shape = spec.gemm().shape;
  for (const Candidate& one : gemm_candidates(plan, {shape.m_min, shape.m_max})) {
    GemmVariant v = one.variant;
    v.name = plan.kernels[0].name;
    if (v.kernel != kernel) continue;
    if (kernel == GemmKernel::kWgmma && v.cluster > 1) continue;
    plan.kernels = {one.family->kernel(plan, v)};
    return plan;
  }
  throw std::logic_error("no kernel of kind " + std::string(to_string(kernel)) + ": " + name);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
