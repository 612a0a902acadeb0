// The fit of cost parameters to times that are known to follow from other values.
#include "tools/tune/cost_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/families/registry.h"
#include "generator/planner/candidates.h"
#include "tests/generator/tuned/tables.h"
#include "tests/tools/tune/fake_gpu.h"

namespace heddle {
namespace {

// All kernels of a family for one problem whose predicted time the parameter does not change.
std::vector<TimedKernel> kernels_without(const GemmFamily& family, std::string_view parameter,
                                         const CalibrationJob& job, std::int64_t m,
                                         Costs true_costs) {
  const std::vector<CostParameter>& parameters = family.cost_parameters();
  Values other = values_of(parameters);
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (parameters[i].name == parameter) other[i] *= 2;
  }
  std::vector<TimedKernel> kernels;
  for (const Candidate& one : all_candidates(job.plan, step_of(job.plan, m))) {
    if (one.kernel.family != &family) continue;
    TimedKernel timed{job.plan, m, 0};
    timed.plan.kernels = {one.kernel};
    if (timed.predicted_us(other) != timed.predicted_us(values_of(parameters))) continue;
    timed.us = timed.predicted_us(true_costs);
    kernels.push_back(std::move(timed));
  }
  return kernels;
}

TEST(CostFit, LeavesAloneWhatNoKernelDependsOn) {
  const std::vector<CalibrationJob> jobs = jobs_for("h100");
  for (const char* name : {"gemv", "stream", "tiles"}) {
    const GemmFamily& family = family_named(name);
    const Values truth = other_costs(4).at(&family);
    std::vector<TimedKernel> kernels;
    for (const CalibrationJob& job : jobs) {
      // Kernels that do not share K have no exchange.
      for (TimedKernel& one : kernels_without(family, "exchange", job, 1, truth)) {
        kernels.push_back(std::move(one));
      }
    }
    ASSERT_GT(kernels.size(), 10U) << name;
    std::vector<WeightedKernel> weighted;
    for (const TimedKernel& one : kernels) weighted.push_back({&one, 1});
    const std::vector<CostParameter>& parameters = family.cost_parameters();
    const Values fitted = fit_costs(family, weighted, values_of(parameters));
    bool has_changed = false;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (parameters[i].name == "exchange") {
        EXPECT_EQ(fitted[i], parameters[i].value) << name;
      } else {
        has_changed = has_changed || fitted[i] != parameters[i].value;
      }
    }
    EXPECT_TRUE(has_changed) << name;
    EXPECT_LT(cost_errors(kernels, fitted).median, 0.02) << name;
  }
}

TEST(CostFit, KeepsValuesInTheirRangesWhateverTheTimes) {
  const CalibrationJob job = jobs_for("h100").front();
  for (const double times : {0.001, 0.1, 10.0, 1000.0}) {
    for (const GemmFamily* family : gemm_families()) {
      const Values current = values_of(family->cost_parameters());
      std::vector<TimedKernel> kernels;
      for (const std::int64_t m : {1, 16, 64}) {
        for (TimedKernel& one : kernels_without(*family, "", job, m, current)) {
          one.us *= times;
          kernels.push_back(std::move(one));
        }
      }
      std::vector<WeightedKernel> weighted;
      for (const TimedKernel& one : kernels) weighted.push_back({&one, 1});
      const Values fitted = fit_costs(*family, weighted, current);
      for (std::size_t i = 0; i < fitted.size(); ++i) {
        const CostParameter& parameter = family->cost_parameters()[i];
        EXPECT_GE(fitted[i], range_of(parameter).least * (1 - 1e-9)) << parameter.name;
        EXPECT_LE(fitted[i], range_of(parameter).most * (1 + 1e-9)) << parameter.name;
        EXPECT_LE(std::abs(std::log(fitted[i] / current[i])), std::log(kMostChange) + 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace heddle
