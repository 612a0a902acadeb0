#include "generator/planner/candidate_times.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/planner/measured_costs.h"
#include "generator/planner/serving.h"

namespace heddle {
namespace {

std::vector<Candidate> candidates_of_path(const Plan& plan, const MRange& sizes) {
  std::vector<Candidate> all;
  for (const Family* family : serving_families(plan.spec, plan.target, sizes)) {
    for (PlannedKernel& kernel : family->candidates(plan, sizes)) {
      const double us = usual_us(plan, kernel, sizes);
      all.push_back({std::move(kernel), us});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.us < b.us; });
  return all;
}

}  // namespace

std::vector<std::int64_t> steps_of(const Plan& plan, const MRange& sizes) {
  std::set<std::int64_t> steps;
  for (const Family* family : families_of(plan.spec.op())) {
    for (const std::int64_t step : family->steps(plan, sizes)) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

Plan with_range(const Plan& plan, const MRange& sizes) {
  Plan part = plan;
  part.spec = with_sizes(plan.spec, sizes);
  return part;
}

std::vector<Candidate> all_candidates(const Plan& plan, const MRange& sizes) {
  std::vector<Candidate> all = candidates_of_path(plan, sizes);
  const bool may_be_older =
      path_of(plan.spec) == Path::kHopper && sizes.min != sizes_of(plan.spec).min;
  if (!all.empty() || !may_be_older) return all;
  // The path serves the spec's smallest size; of larger ones it may have no kernel at all.
  return tile_refusals(plan, sizes).empty() ? candidates_of_path(with_older_path(plan), sizes)
                                            : all;
}

PlannedKernel planned_kernel(const Plan& plan, PlannedKernel candidate, std::string name) {
  candidate.name = std::move(name);
  candidate.family->complete(plan, candidate);
  return candidate;
}

double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size) {
  return kernel.family->predicted_us(plan, kernel, size, costs_of(plan, *kernel.family));
}

double usual_us(const Plan& plan, const PlannedKernel& kernel, const MRange& sizes) {
  const std::vector<LaunchSize> launches = operation_of(plan.spec).usual_launches(sizes);
  if (launches.size() == 1) return predicted_us(plan, kernel, launches.front());
  double logarithms = 0;
  for (const LaunchSize& one : launches) logarithms += std::log(predicted_us(plan, kernel, one));
  return std::exp(logarithms / static_cast<double>(launches.size()));
}

std::string kernel_label(const PlannedKernel& kernel) { return kernel.family->label(kernel); }

}  // namespace heddle
