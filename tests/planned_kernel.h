// A kernel that a test puts together field by field, or finds by its kind.
#ifndef HEDDLE_TESTS_PLANNED_KERNEL_H_
#define HEDDLE_TESTS_PLANNED_KERNEL_H_

#include <functional>
#include <optional>
#include <string_view>

#include "generator/families/gemm_variant.h"
#include "generator/families/registry.h"
#include "generator/planner/choose.h"

namespace heddle {

// Of the variants that are wanted the one that is predicted to be the fastest for a range of M,
// whether or not another is faster there; none if there is no such kernel.
inline std::optional<GemmVariant> fastest_variant(
    const Plan& plan, const MRange& m, const std::function<bool(const GemmVariant&)>& wanted) {
  for (const Candidate& one : gemm_candidates(plan, m)) {
    if (wanted(one.variant)) return one.variant;
  }
  return std::nullopt;
}
inline std::optional<GemmVariant> fastest_variant(const Plan& plan, const MRange& m,
                                                  GemmKernel kind) {
  return fastest_variant(plan, m, [&](const GemmVariant& v) { return v.kernel == kind; });
}

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
