// A GPU with other costs than the built-in ones, and what calibration measures on it.
#ifndef HEDDLE_TESTS_TOOLS_TUNE_FAKE_GPU_H_
#define HEDDLE_TESTS_TOOLS_TUNE_FAKE_GPU_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/registry.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/tools/tune/fake_device.h"
#include "tools/tune/calibration_problems.h"
#include "tools/tune/calibrator.h"
#include "tools/tune/values.h"

namespace heddle {

// The built-in values of each family, times factors between 0.6 and 1.6.
inline std::map<const GemmFamily*, Values> other_costs(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(std::log(0.6), std::log(1.6));
  std::map<const GemmFamily*, Values> all;
  for (const GemmFamily* family : gemm_families()) {
    for (const CostParameter& one : family->cost_parameters()) {
      const CostRange range = range_of(one);
      const double value = one.value * std::exp(factor(random));
      all[family].push_back(std::clamp(value, range.least, range.most));
    }
  }
  return all;
}

// Kernels take what the costs of this GPU say, but for noise.
class FakeGpu final : public FakeTuneDevice {
 public:
  explicit FakeGpu(std::map<const GemmFamily*, Values> costs) : costs_(std::move(costs)) {}

  double noise = 0.03;
  std::function<std::string(const Plan&)> fault = [](const Plan&) { return std::string(); };

 protected:
  std::string fault_of(const Plan& plan) override { return fault(plan); }
  double time_of(const Plan& plan, std::int64_t m) override {
    const TimedKernel one{plan, m, 0};
    return one.predicted_us(costs_.at(&one.family())) * (1 + noise * normal_(random_));
  }

 private:
  std::map<const GemmFamily*, Values> costs_;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

// But for problems that this GPU cannot serve.
inline std::vector<CalibrationJob> jobs_for(const char* gpu) {
  std::vector<CalibrationJob> jobs;
  for (const CalibrationProblem& one : calibration_problems()) {
    try {
      jobs.push_back({one.name,
                      resolve(Spec::from_gemm(one.gemm), target_from_name(gpu), TunedTables()),
                      one.m});
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
    }
  }
  return jobs;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_TOOLS_TUNE_FAKE_GPU_H_
