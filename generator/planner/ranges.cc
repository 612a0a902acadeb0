#include "generator/planner/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {
namespace {

// A range, and what it takes to serve all steps up to its last.
struct Run {
  StepRange range;
  std::size_t kernels = 0;
  double loss = 0;  // sum of the logarithms of times over best times
};

// Compares the runs that end with a kernel's own step with the best one so far.
void extend(const StepTimes& times, const StepRange& kernel, double tolerance,
            const std::vector<Run>& runs, Run* best) {
  double loss = 0;
  for (std::size_t first = kernel.last + 1; first-- > 0;) {
    const std::optional<double> us = times.us(kernel.last, kernel.kernel, first);
    if (!us) return;
    const double ratio = *us / times.best_us(first);
    if (ratio > tolerance) return;
    loss += std::log(ratio);
    const Run run{{first, kernel.last, kernel.kernel},
                  (first == 0 ? 0 : runs[first - 1].kernels) + 1,
                  loss + (first == 0 ? 0 : runs[first - 1].loss)};
    if (run.kernels < best->kernels || (run.kernels == best->kernels && run.loss < best->loss)) {
      *best = run;
    }
  }
}

// For each step the run that ends with it when as few kernels as can be serve all up to it, of
// those the fastest.
std::vector<Run> shortest(const StepTimes& times, double tolerance) {
  std::vector<Run> runs;
  for (std::size_t last = 0; last < times.steps(); ++last) {
    Run best;
    best.kernels = std::numeric_limits<std::size_t>::max();
    for (std::size_t kernel = 0; kernel < times.kernels(last); ++kernel) {
      extend(times, {last, last, kernel}, tolerance, runs, &best);
    }
    runs.push_back(best);
  }
  return runs;
}

}  // namespace

std::vector<StepRange> best_ranges(const StepTimes& times, std::size_t most) {
  double tolerance = kSameTime;
  std::vector<Run> runs = shortest(times, tolerance);
  if (!runs.empty() && runs.back().kernels > most) {
    // Kernels that may not serve other steps do not become fewer, whatever the tolerance.
    most = std::max(most, shortest(times, std::numeric_limits<double>::max()).back().kernels);
    while (runs.back().kernels > most) {
      tolerance *= kSameTime;
      runs = shortest(times, tolerance);
    }
  }
  std::vector<StepRange> ranges;
  for (std::size_t end = times.steps(); end > 0; end = ranges.back().first) {
    ranges.push_back(runs[end - 1].range);
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace heddle
