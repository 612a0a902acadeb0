// A GPU for tests of tuning and calibration, with a clock that only its own work moves.
#ifndef HEDDLE_TESTS_TOOLS_TUNE_FAKE_DEVICE_H_
#define HEDDLE_TESTS_TOOLS_TUNE_FAKE_DEVICE_H_

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/planner/choose.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tools/tune/tuner.h"

namespace heddle {

inline constexpr double kCompileSeconds = 0.1;
inline constexpr double kReplaySeconds = 0.003;

// Checks that it is asked as TuneDevice says.
class FakeTuneDevice : public TuneDevice {
 public:
  double clock = 0;
  std::size_t timed = 0;
  std::size_t fails_after = 1U << 30;     // of times
  std::vector<std::int64_t> most_tokens;  // of each begin()

  void compile(std::vector<Plan> plans) override {
    for (const Plan& plan : plans) compiled_.insert(text_of(plan));
  }
  void begin(const Plan&, std::int64_t max_m) override {
    kernels_.clear();
    most_tokens.push_back(max_m);
  }
  Admission admit(const Plan& plan, std::int64_t m) override {
    EXPECT_TRUE(compiled_.contains(text_of(plan)));
    EXPECT_GE(m, plan.spec.gemm().shape.m_min);
    EXPECT_LE(m, plan.spec.gemm().shape.m_max);
    clock += kCompileSeconds;
    kernels_.push_back(plan);
    return {kernels_.size() - 1, fault_of(plan)};
  }
  double time_us(std::size_t kernel, std::int64_t m) override {
    if (++timed > fails_after) throw Error(ErrorCategory::kDriver, "driver.failed", "it broke");
    const Plan& plan = kernels_.at(kernel);
    EXPECT_LE(m, plan.kernels.front().size_max);
    EXPECT_LE(m, most_tokens.back());
    clock += kReplaySeconds;
    return time_of(plan, m);
  }

 protected:
  // What admit() and time_us() say of the plan's kernel.
  virtual std::string fault_of(const Plan& plan) = 0;
  virtual double time_of(const Plan& plan, std::int64_t m) = 0;

 private:
  static std::string text_of(const Plan& plan) {
    return plan.spec.canonical_json() + kernel_label(plan.kernels.front());
  }

  std::set<std::string> compiled_;
  std::vector<Plan> kernels_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_TOOLS_TUNE_FAKE_DEVICE_H_
