// The fixture of tests of kernels of which the urgent ones are made first.
#ifndef HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_
#define HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_

#include <atomic>
#include <memory>
#include <optional>
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
    if (IsSkipped()) return;
    options_.jobs = 1;
    // What is compiled in the background tells so, and waits for the test.
    options_.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors_.emplace_back(text);
      if (text.substr(0, 9) != "compiled ") return;
      ++made_;
      if (urgent_made_) barrier_.pass();
    };
    runtime_ = std::make_unique<Runtime>(options_);
    context_.emplace();
    stream_.emplace();
  }
  void TearDown() override {
    stream_.reset();
    context_.reset();
    runtime_.reset();
    FakeDevice::TearDown();
  }
  // Prepares, with the background held up at its first kernel. Precondition: it is idle.
  Preparation prepare_and_hold(const std::vector<Spec>& specs,
                               const std::vector<MRange>& urgent = {{1, 8}}) {
    urgent_made_ = false;
    barrier_.shut();
    std::size_t told = 0;
    const auto tell = [&](const BuildResult&, std::size_t done, std::size_t total) {
      told = done;
      if (done == total) urgent_made_ = true;
      return true;
    };
    Preparation preparation = runtime_->prepare(specs, urgent, tell);
    EXPECT_GT(told, 0U);
    return preparation;
  }
  Plan final_plan(const Spec& spec) {
    return resolve(spec, runtime_->device_target(), runtime_->tuned_tables());
  }
  std::string last_name(const Spec& spec) { return final_plan(spec).kernels.back().name; }

  const Spec spec_ = wide_spec();
  Barrier barrier_;
  std::atomic<bool> urgent_made_{false};
  std::atomic<int> made_{0};  // by the compiler
  std::vector<std::string> errors_;
  // An engine, made last and ended first.
  std::unique_ptr<Runtime> runtime_;
  std::optional<EngineContext> context_;
  std::optional<EngineStream> stream_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_PREPARE_PREPARE_FIRST_H_
