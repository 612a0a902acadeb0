#include "tools/tune/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "generator/families/registry.h"
#include "generator/planner/measured_costs.h"

namespace heddle {
namespace {

std::vector<TimedKernel> kernels_of(const GemmFamily& family, const CalibrationCell& cell) {
  std::vector<TimedKernel> kernels;
  for (const TimedKernel& one : cell.kernels) {
    if (&one.family() == &family) kernels.push_back(one);
  }
  return kernels;
}

// A family's kernels of each cell that has some.
std::vector<std::vector<TimedKernel>> cells_of(const GemmFamily& family,
                                               const std::vector<CalibrationCell>& cells) {
  std::vector<std::vector<TimedKernel>> own;
  for (const CalibrationCell& cell : cells) {
    std::vector<TimedKernel> kernels = kernels_of(family, cell);
    if (!kernels.empty()) own.push_back(std::move(kernels));
  }
  return own;
}

// The faster a kernel is, beside the fastest of its cell, the more it matters how well it is
// predicted.
void add_weighted(const std::vector<TimedKernel>& cell, std::vector<WeightedKernel>* all) {
  const auto fastest =
      std::min_element(cell.begin(), cell.end(),
                       [](const TimedKernel& a, const TimedKernel& b) { return a.us < b.us; });
  for (const TimedKernel& one : cell) all->push_back({&one, fastest->us / one.us});
}

// What people read has four digits; values are judged as they are written.
double with_four_digits(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

FamilyCalibration calibrate_family(const GemmFamily& family,
                                   const std::vector<std::vector<TimedKernel>>& cells) {
  FamilyCalibration one;
  one.family = &family;
  const Costs current = costs_of(cells.front().front().plan, family);
  one.current.assign(current.begin(), current.end());
  std::vector<WeightedKernel> fitted;
  std::vector<TimedKernel> held_out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % kHoldOut == kHoldOut - 1) {
      held_out.insert(held_out.end(), cells[i].begin(), cells[i].end());
    } else {
      add_weighted(cells[i], &fitted);
    }
  }
  one.fitted = fitted.size();
  one.held_out = held_out.size();
  if (fitted.size() < kFewestFitted || held_out.size() < kFewestHeldOut) return one;
  one.values = fit_costs(family, fitted, one.current);
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    // A value that no kernel depends on stays exactly what it was.
    if (one.values[i] != one.current[i]) one.values[i] = with_four_digits(one.values[i]);
  }
  one.before = cost_errors(held_out, one.current);
  one.after = cost_errors(held_out, one.values);
  const bool is_better = one.values != one.current && one.after.median <= one.before.median &&
                         one.after.p90 <= one.before.p90;
  one.verdict = is_better ? CalibrationVerdict::kBetter : CalibrationVerdict::kNotBetter;
  return one;
}

}  // namespace

std::vector<FamilyCalibration> calibrate(const std::vector<CalibrationCell>& cells) {
  std::vector<FamilyCalibration> families;
  for (const GemmFamily* family : gemm_families()) {
    const std::vector<std::vector<TimedKernel>> own = cells_of(*family, cells);
    if (!own.empty()) families.push_back(calibrate_family(*family, own));
  }
  return families;
}

std::vector<TunedCosts> costs_to_write(const std::vector<FamilyCalibration>& families,
                                       const std::string& from) {
  std::vector<TunedCosts> all;
  for (const FamilyCalibration& one : families) {
    if (one.verdict != CalibrationVerdict::kBetter) continue;
    TunedCosts costs{std::string(one.family->name()), one.family->cost_version(), {}, from};
    const std::vector<CostParameter>& parameters = one.family->cost_parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      costs.values.emplace(parameters[i].name, one.values[i]);
    }
    all.push_back(std::move(costs));
  }
  return all;
}

}  // namespace heddle
