// Fixture of the tests that need a GPU.
#ifndef HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
#define HEDDLE_TESTS_GPU_GPU_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heddle/inspect/source.h"
#include "tests/shared_runtime.h"

namespace heddle {

// Where HEDDLE_TEST_TARGET names a GPU, as --target does, or is "device", the tests compute
// nothing: they name the kernels that they need, which are then compiled for that GPU all together,
// so that no core waits for another. With HEDDLE_TEST_CACHE they are kept for the tests themselves.
class KernelsToMake : public ::testing::Environment {
 public:
  static const char* target_name() { return std::getenv("HEDDLE_TEST_TARGET"); }
  static bool only_these() { return target_name() != nullptr; }

  void add(Source source) {
    std::string name = source.file_name;  // names the content
    sources_.emplace(std::move(name), std::move(source));
  }
  void TearDown() override {
    if (sources_.empty()) return;
    std::vector<Source> sources;
    for (auto& [name, source] : sources_) sources.push_back(std::move(source));
    const std::size_t made = runtime().build(sources).size();
    std::printf("made %zu kernels for %s\n", made, target_name());
  }

 private:
  std::map<std::string, Source, std::less<>> sources_;
};

// The program's, which gtest owns.
inline KernelsToMake& kernels_to_make =
    static_cast<KernelsToMake&>(*::testing::AddGlobalTestEnvironment(new KernelsToMake));

// Skips where there is no GPU, and where only kernels are made.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (KernelsToMake::only_these()) {
      if (!makes_kernels()) GTEST_SKIP() << "its kernels are made when it runs";
      return;
    }
    std::string why;
    if (!runtime().has_device(&why)) GTEST_SKIP() << "no GPU: " << why;
  }
  void TearDown() override {
    if (KernelsToMake::only_these()) GTEST_SKIP() << "only its kernels are made";
  }

  // Whether every test of the fixture asks only_makes() before it needs the GPU.
  virtual bool makes_kernels() const { return false; }
  // The target of the GPU, or of the one that is named instead.
  static Target target() {
    if (!KernelsToMake::only_these() || KernelsToMake::target_name() == std::string("device")) {
      return runtime().device_target();
    }
    return target_from_name(KernelsToMake::target_name());
  }
  // Compiles several at a time, before they are needed one by one.
  static void make(const std::vector<Plan>& plans) {
    std::vector<Source> sources;
    for (const Plan& plan : plans) {
      for (Source& source : render_all(plan)) sources.push_back(std::move(source));
    }
    runtime().build(sources);
  }
  static void make(const std::vector<Spec>& specs) {
    std::vector<Plan> plans;
    for (const Spec& spec : specs) plans.push_back(resolve(spec, target()));
    make(plans);
  }
  // Where only kernels are made: names those of the plans or specs, and says that nothing else is
  // to be done.
  static bool only_makes(const std::vector<Plan>& plans) {
    if (!KernelsToMake::only_these()) return false;
    for (const Plan& plan : plans) {
      for (Source& source : render_all(plan)) kernels_to_make.add(std::move(source));
    }
    return true;
  }
  static bool only_makes(const std::vector<Spec>& specs) {
    if (!KernelsToMake::only_these()) return false;
    for (const Spec& spec : specs) only_makes(std::vector{resolve(spec, target())});
    return true;
  }
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
