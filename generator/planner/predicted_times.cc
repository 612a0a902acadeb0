#include "generator/planner/predicted_times.h"

#include <algorithm>
#include <utility>

#include "generator/families/family.h"
#include "generator/operations/operation.h"
#include "generator/planner/serving.h"

namespace heddle {

PredictedTimes::PredictedTimes(const Plan& plan, StepCandidates steps)
    : plan_(plan), path_(path_of(plan.spec)), steps_(std::move(steps)) {
  for (std::vector<Candidate>& all : steps_.candidates) {
    all.resize(std::min(all.size(), kMostExtended));
  }
}

double PredictedTimes::kernel_is_worth() const {
  return operation_of(plan_.spec).saves_kernels() ? kKernelIsWorth : 1;
}

std::optional<double> PredictedTimes::us(std::size_t own, std::size_t kernel,
                                         std::size_t step) const {
  const Candidate& candidate = steps_.candidates[own][kernel];
  if (leaves_path(candidate, step)) return std::nullopt;
  if (step == own) return candidate.us;
  const MRange sizes = steps_.sizes(step);
  const Family& family = *candidate.kernel.family;
  if (family.least_size(plan_, candidate.kernel) > sizes.min) return std::nullopt;
  return usual_us(plan_, candidate.kernel, sizes);
}

std::vector<Candidate> PredictedTimes::chosen(const std::vector<StepRange>& ranges) const {
  std::vector<Candidate> all;
  for (const StepRange& range : ranges) {
    all.push_back(steps_.candidates[range.last][range.kernel]);
    all.back().kernel.size_min = steps_.sizes(range.first).min;
  }
  return all;
}

bool PredictedTimes::leaves_path(const Candidate& candidate, std::size_t step) const {
  const auto path = [](const PlannedKernel& kernel) { return kernel.family->path(kernel); };
  return path_ != Path::kAuto &&
         path(steps_.candidates[step].front().kernel) != path(candidate.kernel);
}

}  // namespace heddle
