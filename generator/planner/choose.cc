#include "generator/planner/choose.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/planner/measured_costs.h"
#include "generator/planner/serving.h"

namespace heddle {
namespace {

// The candidates of every step, with their predicted times.
class PredictedTimes final : public StepTimes {
 public:
  PredictedTimes(const Plan& plan, const MRange& sizes)
      : plan_(plan), path_(path_of(plan.spec)), first_(sizes.min), steps_(steps_of(plan, sizes)) {
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      std::vector<Candidate> all = all_candidates(plan, range_of(step));
      if (all.empty()) throw_refusals(plan, range_of(step));
      best_.push_back(all.front().us);
      all.resize(std::min(all.size(), kMostExtended));
      candidates_.push_back(std::move(all));
    }
  }

  std::size_t steps() const override { return steps_.size(); }
  std::int64_t size(std::size_t step) const override { return steps_[step]; }
  std::size_t kernels(std::size_t step) const override { return candidates_[step].size(); }
  double best_us(std::size_t step) const override { return best_[step]; }
  double kernel_is_worth() const override {
    return operation_of(plan_.spec).saves_kernels() ? kKernelIsWorth : 1;
  }

  // A kernel serves all sizes below its own that have no kernels of their own.
  std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const override {
    const Candidate& candidate = candidates_[own][kernel];
    if (leaves_path(candidate, step)) return std::nullopt;
    if (step == own) return candidate.us;
    const Family& family = *candidate.kernel.family;
    if (family.least_size(plan_, candidate.kernel) > range_of(step).min) return std::nullopt;
    return usual_us(plan_, candidate.kernel, range_of(step));
  }

  Candidate chosen(const StepRange& range) const {
    Candidate one = candidates_[range.last][range.kernel];
    one.kernel.size_min = range_of(range.first).min;
    return one;
  }

 private:
  MRange range_of(std::size_t step) const {
    return {step == 0 ? first_ : steps_[step - 1] + 1, steps_[step]};
  }
  // Whether the step has kernels of the path that the spec asks for, which this is not of.
  bool leaves_path(const Candidate& candidate, std::size_t step) const {
    const auto path = [](const PlannedKernel& kernel) { return kernel.family->path(kernel); };
    return path_ != Path::kAuto && path(candidates_[step].front().kernel) != path(candidate.kernel);
  }

  const Plan& plan_;
  const Path path_;
  const std::int64_t first_;
  std::vector<std::int64_t> steps_;
  std::vector<double> best_;                        // of each step
  std::vector<std::vector<Candidate>> candidates_;  // of each step, the fastest first
};

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

std::vector<Candidate> choose_kernels(const Plan& plan, const MRange& sizes, std::size_t most) {
  const PredictedTimes times(plan, sizes);
  std::vector<Candidate> chosen;
  for (const StepRange& range : best_ranges(times, most)) chosen.push_back(times.chosen(range));
  return chosen;
}

}  // namespace heddle
