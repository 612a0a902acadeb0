// Of ways to do something those that are predicted fastest.
#ifndef HEDDLE_GENERATOR_FAMILIES_FASTEST_H_
#define HEDDLE_GENERATOR_FAMILIES_FASTEST_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace heddle {

// At most so many, the fastest first; of equally fast ones the earlier. `timed`: microseconds and
// ways.
template <class Way>
std::vector<Way> fastest(std::vector<std::pair<double, Way>> timed, std::size_t most) {
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Way> best;
  for (std::size_t i = 0; i < std::min(most, timed.size()); ++i) {
    best.push_back(std::move(timed[i].second));
  }
  return best;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_FASTEST_H_
