#include "generator/planner/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The last range of some, and what all of them lose.
struct Run {
  StepRange range;
  double loss = kNever;  // weighted sum of the logarithms of times over best times
};

// The best ranges up to each step, of one kernel, of two and so on: runs[step][kernels - 1].
using Runs = std::vector<std::vector<Run>>;

bool has_few_tokens(const StepTimes& times, std::size_t step) {
  return times.size(step) <= kFewTokens;
}

double weight_of(const StepTimes& times, std::size_t step) {
  return has_few_tokens(times, step) ? 1 : kWeightOfMany;
}

// Compares what ends with a kernel's own step with the best so far. `tolerance_of_many`: of steps
// of more than kFewTokens, by which times may exceed the best ones.
void extend(const StepTimes& times, const StepRange& kernel, double tolerance_of_many,
            const Runs& runs, std::vector<Run>& best) {
  double loss = 0;
  for (std::size_t first = kernel.last + 1; first-- > 0;) {
    const std::optional<double> us = times.us(kernel.last, kernel.kernel, first);
    if (!us) return;
    const double ratio = *us / times.best_us(first);
    if (ratio > (has_few_tokens(times, first) ? kSameTime : tolerance_of_many)) return;
    loss += weight_of(times, first) * std::log(ratio);
    const StepRange range{first, kernel.last, kernel.kernel};
    if (first == 0) {
      if (loss < best[0].loss) best[0] = {range, loss};
      return;
    }
    for (std::size_t i = 1; i < best.size(); ++i) {
      const double all = runs[first - 1][i - 1].loss + loss;
      if (all < best[i].loss) best[i] = {range, all};
    }
  }
}

Runs runs_within(const StepTimes& times, double tolerance_of_many, std::size_t most) {
  Runs runs;
  for (std::size_t last = 0; last < times.steps(); ++last) {
    std::vector<Run> best(most);
    for (std::size_t kernel = 0; kernel < times.kernels(last); ++kernel) {
      extend(times, {last, last, kernel}, tolerance_of_many, runs, best);
    }
    runs.push_back(std::move(best));
  }
  return runs;
}

// With how many kernels least is lost, where each more is `worth` as much; nothing where no number
// serves all steps.
std::optional<std::size_t> best_number(const std::vector<Run>& runs, double worth) {
  std::optional<std::size_t> best;
  double least = kNever;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double loss = runs[i].loss + static_cast<double>(i) * std::log(worth);
    if (loss >= least) continue;
    least = loss;
    best = i + 1;
  }
  return best;
}

}  // namespace

std::vector<StepRange> best_ranges(const StepTimes& times, std::size_t most) {
  if (times.steps() == 0) return {};
  const double worth = times.kernel_is_worth();
  // Kernels that may not serve other steps, or are too slow with few tokens, do not become fewer.
  if (!best_number(runs_within(times, kNever, most).back(), worth)) most = times.steps();
  double tolerance_of_many = kSameTime;
  Runs runs = runs_within(times, tolerance_of_many, most);
  while (!best_number(runs.back(), worth)) {
    tolerance_of_many *= kSameTime;
    if (!std::isfinite(tolerance_of_many)) {
      throw Error(ErrorCategory::kInternal, "plan.times",
                  "no kernels serve all sizes: a predicted time is no number");
    }
    runs = runs_within(times, tolerance_of_many, most);
  }
  std::vector<StepRange> ranges;
  std::size_t kernels = *best_number(runs.back(), worth);
  for (std::size_t end = times.steps(); end > 0; end = ranges.back().first, --kernels) {
    ranges.push_back(runs[end - 1][kernels - 1].range);
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

double weighted_time(const StepTimes& times, const std::vector<StepRange>& ranges) {
  double time = static_cast<double>(ranges.size()) * std::log(times.kernel_is_worth());
  for (const StepRange& range : ranges) {
    for (std::size_t step = range.first; step <= range.last; ++step) {
      time += weight_of(times, step) * std::log(*times.us(range.last, range.kernel, step));
    }
  }
  return time;
}

}  // namespace heddle
