#include "generator/planner/choose.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "generator/planner/measured_costs.h"
#include "generator/planner/serving.h"

namespace heddle {
namespace {

constexpr std::int64_t kSteps[] = {1,   2,   4,   8,   16,  32,  48,   64,   96,
                                   128, 160, 192, 256, 384, 512, 1024, 2048, 4096};

// The candidates of every step, with their predicted times.
class PredictedTimes final : public StepTimes {
 public:
  explicit PredictedTimes(const Plan& plan)
      : plan_(plan),
        shape_(plan.spec.gemm().shape),
        steps_(token_steps(shape_.m_min, shape_.m_max)) {
    std::int64_t first = shape_.m_min;
    for (const std::int64_t step : steps_) {
      std::vector<Candidate> all = gemm_candidates(plan, {first, step});
      if (all.empty()) throw_refusals(plan, {first, step});
      best_.push_back(all.front().us);
      all.resize(std::min(all.size(), kMostExtended));
      candidates_.push_back(std::move(all));
      first = step + 1;
    }
  }

  std::size_t steps() const override { return steps_.size(); }
  std::int64_t tokens(std::size_t step) const override { return steps_[step]; }
  std::size_t kernels(std::size_t step) const override { return candidates_[step].size(); }
  double best_us(std::size_t step) const override { return best_[step]; }

  // A kernel serves all numbers of tokens below its own.
  std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const override {
    const Candidate& candidate = candidates_[own][kernel];
    if (leaves_path(candidate, step)) return std::nullopt;
    if (step == own) return candidate.us;
    return predicted_us(plan_, candidate.kernel, steps_[step]);
  }

  Candidate chosen(const StepRange& range) const {
    Candidate one = candidates_[range.last][range.kernel];
    one.kernel.size_min = range.first == 0 ? shape_.m_min : steps_[range.first - 1] + 1;
    return one;
  }

 private:
  // Whether the step has kernels of the path that the spec asks for, which this is not of.
  bool leaves_path(const Candidate& candidate, std::size_t step) const {
    return plan_.spec.gemm().path != Path::kAuto &&
           path_of(candidates_[step].front().kernel) != path_of(candidate.kernel);
  }

  const Plan& plan_;
  const GemmShape& shape_;
  std::vector<std::int64_t> steps_;
  std::vector<double> best_;                        // of each step
  std::vector<std::vector<Candidate>> candidates_;  // of each step, the fastest first
};

std::vector<Candidate> candidates_of_path(const Plan& plan, const MRange& m) {
  std::vector<Candidate> all;
  for (const GemmFamily* family : serving_families(plan.spec.gemm(), plan.target, m)) {
    const Costs costs = costs_of(plan, *family);
    for (PlannedKernel& kernel : family->candidates(plan, m)) {
      const double us = family->predicted_us(plan, kernel, m.max, costs);
      all.push_back({std::move(kernel), us});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.us < b.us; });
  return all;
}

}  // namespace

std::vector<std::int64_t> token_steps(std::int64_t m_min, std::int64_t m_max) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t step : kSteps) {
    if (step >= m_min && step < m_max) steps.push_back(step);
  }
  steps.push_back(m_max);
  return steps;
}

Plan with_range(const Plan& plan, const MRange& m) {
  GemmSpec spec = plan.spec.gemm();
  spec.shape.m_min = m.min;
  spec.shape.m_max = m.max;
  Plan part = plan;
  part.spec = Spec::from_gemm(spec, plan.spec.name());
  return part;
}

std::vector<Candidate> gemm_candidates(const Plan& plan, const MRange& m) {
  std::vector<Candidate> all = candidates_of_path(plan, m);
  const GemmSpec& spec = plan.spec.gemm();
  if (!all.empty() || spec.path != Path::kHopper || m.min == spec.shape.m_min) return all;
  // The path serves the spec's fewest tokens; of more it may have no kernel at all.
  return tile_refusals(plan, m).empty() ? candidates_of_path(with_older_path(plan), m) : all;
}

PlannedKernel planned_kernel(const Plan& plan, PlannedKernel candidate, std::string name) {
  candidate.name = std::move(name);
  gemm_family_of(candidate).complete(plan, candidate);
  return candidate;
}

double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m) {
  const GemmFamily& family = gemm_family_of(kernel);
  return family.predicted_us(plan, kernel, m, costs_of(plan, family));
}

std::string kernel_label(const PlannedKernel& kernel) {
  return gemm_family_of(kernel).label(kernel);
}

std::vector<Candidate> choose_kernels(const Plan& plan, std::size_t most) {
  const PredictedTimes times(plan);
  std::vector<Candidate> chosen;
  for (const StepRange& range : best_ranges(times, most)) chosen.push_back(times.chosen(range));
  return chosen;
}

}  // namespace heddle
