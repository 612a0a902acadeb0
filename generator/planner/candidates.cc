#include "generator/planner/candidates.h"

#include <algorithm>
#include <utility>

#include "generator/planner/same_kernel.h"

namespace heddle {
namespace {

Plan with_kernel(const Plan& plan, PlannedKernel kernel) {
  Plan one = with_range(plan, {kernel.size_min, kernel.size_max});
  one.kernels = {std::move(kernel)};
  return one;
}

}  // namespace

MRange step_of(const GemmShape& shape, std::int64_t m) {
  MRange range{shape.m_min, shape.m_max};
  for (const std::int64_t step : token_steps(shape.m_min, shape.m_max)) {
    if (step >= m) {
      range.max = step;
      return range;
    }
    range.min = step + 1;
  }
  return range;
}

std::vector<CandidatePlan> candidate_plans(const Plan& plan, std::int64_t m) {
  const PlannedKernel& own = plan.kernels[plan.kernel_for(m)];
  const MRange range = step_of(plan.spec.gemm().shape, m);
  std::vector<CandidatePlan> plans;
  plans.push_back({with_kernel(plan, own), predicted_us(plan, own, m)});
  for (Candidate& one : gemm_candidates(plan, range)) {
    if (is_same_kernel(one.variant, variant_of(own))) continue;
    one.variant.name = own.name;
    PlannedKernel kernel = one.family->kernel(plan, one.variant);
    const double us = predicted_us(plan, kernel, m);
    plans.push_back({with_kernel(plan, std::move(kernel)), us});
  }
  std::stable_sort(plans.begin() + 1, plans.end(),
                   [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; });
  return plans;
}

}  // namespace heddle
