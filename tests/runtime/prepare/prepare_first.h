// The fixture of tests of kernels of which the urgent ones are made first.
#ifndef HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_
#define HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_

#include <atomic>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "tests/runtime/barrier.h"
#include "tests/runtime/fake_device.h"

namespace heddle::testing {

inline constexpr std::int64_t kMostM = 48;

// Small, and with several kernels.
inline Spec wide_spec(std::int64_t n = 256) {
  GemmSpec gemm;
  gemm.shape = {n, 512, 1, kMostM};
  return Spec::from_gemm(gemm, "wide" + std::to_string(n));
}

// The name of the kernel that a launch with M has.
inline std::string name_for(const Kernel& kernel, std::int64_t m) {
  const Plan& plan = kernel.plan();
  return plan.kernels[plan.kernel_for(m)].name;
}

class PrepareFirst : public FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    options_.jobs = 1;
    // What is compiled in the background tells so, and waits for the test.
    options_.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors_.emplace_back(text);
      if (text.substr(0, 9) != "compiled ") return;
      ++made_;
      if (urgent_made_) barrier_.pass();
    };
  }
  // Prepares, with the background held up at its first kernel. Precondition: it is idle.
  Preparation prepare_and_hold(Runtime& runtime, const std::vector<Spec>& specs,
                               const std::vector<MRange>& urgent = {{1, 8}}) {
    urgent_made_ = false;
    barrier_.shut();
    std::size_t told = 0;
    const auto tell = [&](const BuildResult&, std::size_t done, std::size_t total) {
      told = done;
      if (done == total) urgent_made_ = true;
      return true;
    };
    Preparation preparation = runtime.prepare(specs, urgent, tell);
    EXPECT_GT(told, 0U);
    return preparation;
  }
  Plan final_plan(Runtime& runtime, const Spec& spec) {
    return resolve(spec, runtime.device_target(), runtime.tuned_tables());
  }

  Barrier barrier_;
  std::atomic<bool> urgent_made_{false};
  std::atomic<int> made_{0};  // by the compiler
  std::vector<std::string> errors_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_
