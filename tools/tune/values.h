// What the fit of cost parameters and the choice of kernels for it compute with.
#ifndef HEDDLE_TOOLS_TUNE_VALUES_H_
#define HEDDLE_TOOLS_TUNE_VALUES_H_

#include <numeric>
#include <vector>

namespace heddle {

using Values = std::vector<double>;
using Matrix = std::vector<Values>;

// Step of a parameter's logarithm in numerical derivatives.
inline constexpr double kDifference = 0.01;

inline double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_VALUES_H_
