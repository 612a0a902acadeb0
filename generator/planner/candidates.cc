#include "generator/planner/candidates.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "generator/families/family.h"
#include "generator/operations/operation.h"

namespace heddle {
namespace {

Plan with_kernel(const Plan& plan, PlannedKernel kernel) {
  Plan one = with_range(plan, {kernel.size_min, kernel.size_max});
  one.kernels = {std::move(kernel)};
  return one;
}

}  // namespace

bool is_same_configuration(const PlannedKernel& a, const PlannedKernel& b) {
  return a.family == b.family && kernel_label(a) == kernel_label(b) && a.threads == b.threads &&
         a.shared_bytes == b.shared_bytes && a.blocks_per_sm == b.blocks_per_sm;
}

bool is_same_kernel(const PlannedKernel& a, const PlannedKernel& b) {
  return is_same_configuration(a, b) && a.family->json(a) == b.family->json(b);
}

MRange step_of(const Plan& plan, std::int64_t size) {
  MRange range = sizes_of(plan.spec);
  for (const std::int64_t step : steps_of(plan, range)) {
    if (step >= size) return {range.min, step};
    range.min = step + 1;
  }
  return range;
}

std::vector<CandidatePlan> candidate_plans(const Plan& plan, const LaunchSize& size) {
  const PlannedKernel& own = plan.kernels[plan.kernel_for(size.size)];
  std::vector<CandidatePlan> plans;
  plans.push_back({with_kernel(plan, own), predicted_us(plan, own, size)});
  for (Candidate& one : all_candidates(plan, step_of(plan, size.size))) {
    PlannedKernel kernel = planned_kernel(plan, std::move(one.kernel), own.name);
    if (is_same_kernel(kernel, own)) continue;
    const double us = predicted_us(plan, kernel, size);
    plans.push_back({with_kernel(plan, std::move(kernel)), us});
  }
  std::stable_sort(plans.begin() + 1, plans.end(),
                   [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; });
  return plans;
}

}  // namespace heddle
