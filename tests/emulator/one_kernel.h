// The plan of a case whose kernel is run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
#define HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_

#include <stdexcept>
#include <string>

#include "generator/families/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// For an H200 with so many SMs. Throws unless it has one kernel, of that kind.
inline Plan plan_of_one(const Spec& spec, const std::string& name, GemmKernel kernel,
                        int sm_count) {
  Target target = target_from_name("h200");
  target.sm_count = sm_count;
  Plan plan = resolve(spec, target);
  if (plan.kernels.size() != 1 || variant_of(plan.kernels[0]).kernel != kernel) {
    throw std::logic_error("not one kernel of kind " + std::string(to_string(kernel)) + ": " +
                           name);
  }
  return plan;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ONE_KERNEL_H_
