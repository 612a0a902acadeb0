#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_MEDIAN_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace heddle {

// The upper one of the two middle values of an even number. Precondition: there are values.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_MEDIAN_H_
