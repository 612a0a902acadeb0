// The plan of a case whose kernel is run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
#define HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_

#include <stdexcept>
#include <string>

#include "heddle/inspect/plan.h"
#include "tests/planned_kernel.h"

namespace heddle {

// For an H200, or another GPU, with so many SMs: the fastest kernel that is wanted for all M of the
// spec. Throws if there is none.
inline Plan plan_of_one(const Spec& spec, const std::string& name, const IsWanted& wanted,
                        int sm_count, const char* gpu = "h200") {
  Target target = target_from_name(gpu);
  target.sm_count = sm_count;
  Plan plan = resolve(spec, target);
  const GemmShape& shape = spec.gemm().shape;
  const auto kernel = fastest_kernel(plan, {shape.m_min, shape.m_max}, wanted);
  if (!kernel) throw std::logic_error("no kernel of the kind that is wanted: " + name);
  plan.kernels = {*kernel};
  return plan;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
