// Costs: what the predicted time of a family's kernels is made of, as far as it must be measured.
//
// A family has at most ten of them, one value of each for all GPUs. They say nothing of shapes or
// formats: those enter through counts of bytes, instructions and stages.
#ifndef HEDDLE_GENERATOR_FAMILIES_COSTS_H_
#define HEDDLE_GENERATOR_FAMILIES_COSTS_H_

#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// `heddle explain --costs` lists all of them with their values.
struct CostParameter {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  double value;  // fitted to an H100, or to it and an H200, which stand for all others
};

// The values of a family's parameters, in their order.
using Costs = std::span<const double>;

inline std::vector<double> values_of(std::span<const CostParameter> parameters) {
  std::vector<double> values;
  for (const CostParameter& one : parameters) values.push_back(one.value);
  return values;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_COSTS_H_
