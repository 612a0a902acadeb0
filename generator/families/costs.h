// Costs: what the predicted time of a family's kernels is made of, as far as it must be measured.
//
// A family has at most ten of them. They say nothing of shapes or formats: those enter through
// counts of bytes, instructions and stages. One built-in value of each stands for all GPUs;
// `heddle tune --calibrate` measures the values of the GPU at hand, and a tuned table holds them.
#ifndef HEDDLE_GENERATOR_FAMILIES_COSTS_H_
#define HEDDLE_GENERATOR_FAMILIES_COSTS_H_

#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// What hardware allows in a clock: instructions that an SM's four schedulers issue, those that one
// of them issues, and so a warp, and bytes that an SM takes from the L2 cache.
inline constexpr double kMostIssue = 4, kMostWarpIssue = 1, kMostSmBytes = 64;

// `heddle explain --costs` lists all of them with their values.
struct CostParameter {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  // Built in: fitted to an H100, or to it and an H200, which stand for all others until
  // `heddle tune --calibrate` has measured them.
  double value;
  double most = 0;  // that the hardware allows, where the unit does not say it; 0: no such limit
};

// The values that a parameter can have, both inclusive; none is 0.
struct CostRange {
  double least = 0;
  double most = 0;
};

// What the unit says, and the hardware.
inline CostRange range_of(const CostParameter& parameter) {
  constexpr double kLeast = 1e-6;
  // With an exponent of 1 both times add up; from 12 on the shorter one no longer counts.
  if (parameter.unit == "exponent") return {1, 12};
  if (parameter.unit == "fraction") return {kLeast, 1};
  if (parameter.most > 0) return {kLeast, parameter.most};
  return {kLeast, 1e9};
}

// The values of a family's parameters, in their order.
using Costs = std::span<const double>;

inline std::vector<double> values_of(std::span<const CostParameter> parameters) {
  std::vector<double> values;
  for (const CostParameter& one : parameters) values.push_back(one.value);
  return values;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_COSTS_H_
