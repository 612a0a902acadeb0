// A kernel that a test puts together field by field.
#ifndef HEDDLE_TESTS_PLANNED_KERNEL_H_
#define HEDDLE_TESTS_PLANNED_KERNEL_H_

#include <string_view>

#include "generator/families/gemm_variant.h"
#include "generator/families/registry.h"

namespace heddle {

// The kernel of a gemm's plan that its family makes of the variant.
inline PlannedKernel planned_kernel(const Plan& plan, const GemmVariant& variant) {
  const std::string_view wanted = variant.kernel == GemmKernel::kStream  ? "stream"
                                  : variant.kernel == GemmKernel::kWgmma ? "warpgroup"
                                                                         : "tiles";
  const GemmFamily* found = nullptr;
  for (const GemmFamily* family : gemm_families()) {
    if (family->name() == wanted) found = family;
  }
  return found->kernel(plan, variant);
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_PLANNED_KERNEL_H_
