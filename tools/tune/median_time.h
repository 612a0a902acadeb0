// The median of measured times, and how far it may be off.
#ifndef HEDDLE_TOOLS_TUNE_MEDIAN_TIME_H_
#define HEDDLE_TOOLS_TUNE_MEDIAN_TIME_H_

#include <cstddef>
#include <vector>

namespace heddle {

struct MedianTime {
  double us = 0;
  // Half of the interval that holds the true median with about 95 % confidence; infinite with fewer
  // than kFewestTimes times.
  double error = 0;
  std::size_t times = 0;
};

inline constexpr std::size_t kFewestTimes = 3;

// The error is the notch of a box plot, 1.57 times the range between the quartiles over the root of
// the number of times (McGill, Tukey and Larsen, "Variations of Box Plots", 1978).
// Precondition: there are times.
MedianTime median_time(std::vector<double> times);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_MEDIAN_TIME_H_
