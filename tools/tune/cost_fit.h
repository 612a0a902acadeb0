// Fits a family's cost parameters to measured times.
#ifndef HEDDLE_TOOLS_TUNE_COST_FIT_H_
#define HEDDLE_TOOLS_TUNE_COST_FIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/gemm_family.h"
#include "heddle/inspect/plan.h"

namespace heddle {

struct TimedKernel {
  Plan plan;  // with this kernel alone
  std::int64_t m = 1;
  double us = 0;  // measured, of a launch with m tokens

  const GemmFamily& family() const { return gemm_family_of(plan.kernels.front()); }
  // Precondition: the costs are of its family.
  double predicted_us(Costs costs) const {
    return family().predicted_us(plan, plan.kernels.front(), LaunchSize{m}, costs);
  }
};

// How far predicted times are from measured ones, as parts of the measured time.
struct CostErrors {
  std::size_t kernels = 0;
  double median = 0;
  double p90 = 0;  // the 90th percentile
};

// Precondition, as of fit_costs(): there are kernels, and all are of one family.
CostErrors cost_errors(const std::vector<TimedKernel>& kernels, Costs costs);

// One kernel and how much its time counts, relative to the others.
struct WeightedKernel {
  const TimedKernel* kernel = nullptr;
  double weight = 1;
};

// Values with which the family predicts the times best: least squares of log(predicted / measured)
// by Levenberg and Marquardt, with a ridge towards the `current` values, so that parameters which
// the times say nothing about stay as they are. Each value stays within range_of() and within
// kMostChange times the current one, either way; times that are far off count less than squared.
std::vector<double> fit_costs(const GemmFamily& family, const std::vector<WeightedKernel>& kernels,
                              Costs current);

inline constexpr double kMostChange = 6;
// What the square of a value's change, as a logarithm, counts beside the squares of the residuals:
// predictions are off by about 5 % even with the best values, and values differ between GPUs by a
// factor of about exp(0.5).
inline constexpr double kCostRidge = 0.05 * 0.05 / (0.5 * 0.5);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_COST_FIT_H_
