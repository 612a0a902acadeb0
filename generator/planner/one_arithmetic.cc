#include "generator/planner/one_arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "generator/families/family.h"
#include "generator/operations/operation.h"
#include "generator/planner/serving.h"
#include "generator/spec/refuse_if_any.h"

namespace heddle {
namespace {

// The candidates of each arithmetic alone. Some have none for some of the steps.
std::vector<StepCandidates> by_arithmetic(const Plan& plan, const StepCandidates& steps) {
  std::map<std::string, StepCandidates> all;
  for (std::size_t step = 0; step < steps.count(); ++step) {
    for (const Candidate& one : steps.candidates[step]) {
      const std::optional<std::string> arithmetic = arithmetic_of(plan, one.kernel);
      if (!arithmetic) continue;
      StepCandidates& alike = all[*arithmetic];
      if (alike.count() == 0) {
        alike = {steps.first, steps.ends, std::vector<std::vector<Candidate>>(steps.count())};
      }
      alike.candidates[step].push_back(one);
    }
  }
  std::vector<StepCandidates> list;
  list.reserve(all.size());
  for (auto& [arithmetic, alike] : all) list.push_back(std::move(alike));
  return list;
}

// The step behind those from `first` on that have candidates.
std::size_t end_of_served(const StepCandidates& steps, std::size_t first) {
  while (first < steps.count() && !steps.candidates[first].empty()) ++first;
  return first;
}

// Ranges of sizes that kernels of one arithmetic serve each, as long as possible from the first
// size on: "[1, 16] or [17, 4096]". The path that the spec asks for may serve no range by itself
// that begins later.
std::string served_ranges(const Plan& plan, const StepCandidates& steps,
                          const std::vector<StepCandidates>& all) {
  std::string text;
  for (std::size_t first = 0; first < steps.count();) {
    std::size_t end = first;
    for (const StepCandidates& alike : all) end = std::max(end, end_of_served(alike, first));
    if (end > first) {
      const MRange sizes{steps.sizes(first).min, steps.ends[end - 1]};
      if (refuse_on_target(with_sizes(plan.spec, sizes), plan.target).empty()) {
        text += fmt::format("{}[{}, {}]", text.empty() ? "" : " or ", sizes.min, sizes.max);
      }
    }
    first = std::max(end, first + 1);
  }
  return text;
}

// `all`: none of them serves all sizes.
void refuse_sizes(const Plan& plan, const StepCandidates& steps,
                  const std::vector<StepCandidates>& all) {
  const std::string ranges = served_ranges(plan, steps, all);
  if (ranges.empty()) {
    refuse_if_any(plan.spec,
                  {{"/batch_invariant",
                    "the order in which every kernel for this spec adds depends on the launch",
                    "true", "false", ""}});
  }
  refuse_if_any(plan.spec,
                {{std::string(operation_of(plan.spec).size_pointer()),
                  "batch_invariant: no kernels that add in the same order serve all of these sizes",
                  fmt::format("[{}, {}]", steps.first, steps.ends.back()), ranges, ""}});
}

}  // namespace

bool is_batch_invariant(const Spec& spec) {
  return operation_of(spec).is_batch_invariant(spec.fields());
}

std::optional<std::string> arithmetic_of(const Plan& plan, const PlannedKernel& kernel) {
  return kernel.family->arithmetic(plan, kernel);
}

std::vector<Candidate> choose_of_one_arithmetic(const Plan& plan, const StepCandidates& steps,
                                                std::size_t most) {
  const std::vector<StepCandidates> all = by_arithmetic(plan, steps);
  std::vector<Candidate> best;
  double least = std::numeric_limits<double>::infinity();
  for (const StepCandidates& alike : all) {
    if (end_of_served(alike, 0) < alike.count()) continue;
    const PredictedTimes times(plan, alike);
    const std::vector<StepRange> ranges = best_ranges(times, most);
    const double time = weighted_time(times, ranges);
    if (time >= least) continue;
    least = time;
    best = times.chosen(ranges);
  }
  if (best.empty()) refuse_sizes(plan, steps, all);
  return best;
}

std::string arithmetic_reason(const Plan& plan) {
  return fmt::format("batch invariant: every kernel adds and scales in the same way: {}",
                     arithmetic_of(plan, plan.kernels.front()).value_or(""));
}

}  // namespace heddle
