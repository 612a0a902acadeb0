// Kernels of a runtime are planned with its tuned tables.
#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "heddle/inspect/plan.h"
#include "tests/generator/tuned/tables.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/slowest_table.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;
using testing::gemm_spec;

class TunedTest : public testing::FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices = {fake::device_of("NVIDIA H100 80GB HBM3", 9, 0)};
  }

  std::string write_table(const Spec& spec, std::string* label) {
    return folder_.write("h100.json", testing::slowest_table(spec, "h100", label).to_json());
  }
};

TEST_F(TunedTest, EveryWayToAKernelUsesTheTables) {
  std::string label;
  options_.tuned_tables = write_table(gemm_spec(), &label);
  Runtime runtime(options_);
  const auto expect_measured = [&](const Kernel& kernel) {
    EXPECT_EQ(kernel_label(kernel.plan().kernels.front()), label);
  };
  expect_measured(runtime.kernel(gemm_spec()));
  expect_measured(runtime.request(gemm_spec()).wait());
  Runtime other(options_);
  expect_measured(other.prepare({gemm_spec()}).front());
}

TEST_F(TunedTest, TheEnvironmentNamesThem) {
  std::string label;
  const std::string file = write_table(gemm_spec(), &label);
  const ScopedEnvironment environment("HEDDLE_TUNED", file.c_str());
  Runtime runtime(options_);
  EXPECT_EQ(kernel_label(runtime.kernel(gemm_spec()).plan().kernels.front()), label);
  options_.tuned_tables = "none";
  Runtime without(options_);
  EXPECT_NE(kernel_label(without.kernel(gemm_spec()).plan().kernels.front()), label);
}

// A table of costs alone: every kernel is chosen by its predicted time, but by these costs.
TEST_F(TunedTest, CostsDecideOfKernelsThatArePredicted) {
  options_.tuned_tables = "none";
  Runtime plain(options_);
  const PlannedKernel& fast = plain.kernel(gemm_spec()).plan().kernels.front();
  const GemmFamily& family = gemm_family_of(fast);
  TunedCosts costs = costs_for(family, 1);
  costs.values.at("start") *= 100;
  options_.tuned_tables =
      "none:" +
      folder_.write("costs.json", TunedTable::from_entries("h100", {}, {costs}).to_json());
  Runtime runtime(options_);
  const Kernel kernel = runtime.kernel(gemm_spec());
  EXPECT_NE(kernel.plan().kernels.front().family, &family);
}

TEST_F(TunedTest, WhatIsWrongWithThemIsAnErrorOfEachCall) {
  options_.tuned_tables = "/nowhere/table.json";
  Runtime runtime(options_);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(code_of([&] { runtime.kernel(gemm_spec()); }), "tuned.unreadable");
    EXPECT_EQ(code_of([&] { runtime.prepare({dequantize_spec()}); }), "tuned.unreadable");
    EXPECT_EQ(code_of([&] { runtime.request(gemm_spec()); }), "tuned.unreadable");
  }
  runtime.set_tuned_tables("none");
  runtime.kernel(gemm_spec());
  EXPECT_EQ(code_of([&] { runtime.set_tuned_tables(""); }), "tuned.in_use");
  options_.tuned_tables = "a::b";
  EXPECT_EQ(code_of([&] { Runtime bad(options_); }), "tuned.list");
  options_.tuned_tables = std::string("a.json\0b", 8);
  EXPECT_EQ(code_of([&] { Runtime bad(options_); }), "path.null_byte");
}

}  // namespace
}  // namespace heddle
