#include "tools/tune/median_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {
namespace {

// Between two values linearly. Precondition: sorted.
double quantile_between(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

MedianTime median_time(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  MedianTime median;
  median.times = times.size();
  median.us = quantile_between(times, 0.5);
  if (times.size() < kFewestTimes) {
    median.error = std::numeric_limits<double>::infinity();
    return median;
  }
  const double range = quantile_between(times, 0.75) - quantile_between(times, 0.25);
  median.error = 1.57 * range / std::sqrt(static_cast<double>(times.size()));
  return median;
}

}  // namespace heddle
