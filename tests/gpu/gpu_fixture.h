// Fixture of the tests that need a GPU.
#ifndef HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
#define HEDDLE_TESTS_GPU_GPU_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "heddle/inspect/source.h"
#include "tests/shared_runtime.h"

namespace heddle {

// Skips where there is none. Fixtures that can make their kernels without it do so before they
// skip if HEDDLE_TEST_TARGET names a GPU, as --target does.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (runtime().has_device(&why)) return;
    if (!makes_kernels() || target_name() == nullptr) GTEST_SKIP() << "no GPU: " << why;
  }
  void TearDown() override {
    if (made_ > 0) GTEST_SKIP() << "no GPU: made " << made_ << " kernels for " << target_name();
  }

  // Whether no test of the fixture needs the GPU where only_makes() says so.
  virtual bool makes_kernels() const { return false; }
  // The target of the GPU, or of the one that is named instead.
  static Target target() {
    return runtime().has_device() ? runtime().device_target() : target_from_name(target_name());
  }
  // Several at a time; returns how many.
  static std::size_t make(const std::vector<Plan>& plans) {
    std::vector<Source> sources;
    for (const Plan& plan : plans) {
      for (Source& source : render_all(plan)) sources.push_back(std::move(source));
    }
    return runtime().build(sources).size();
  }
  static std::size_t make(const std::vector<Spec>& specs) {
    std::vector<Plan> plans;
    for (const Spec& spec : specs) plans.push_back(resolve(spec, target()));
    return make(plans);
  }
  // Where there is no GPU it makes the kernels of the specs or plans, and says that nothing else
  // can be done.
  bool only_makes(const std::vector<Spec>& specs) {
    if (runtime().has_device()) return false;
    made_ += make(specs);
    return true;
  }
  bool only_makes(const std::vector<Plan>& plans) {
    if (runtime().has_device()) return false;
    made_ += make(plans);
    return true;
  }

 private:
  static const char* target_name() { return std::getenv("HEDDLE_TEST_TARGET"); }

  std::size_t made_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
