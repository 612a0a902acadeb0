// The fixture of tests that load and launch on the fake driver.
#ifndef HEDDLE_TESTS_RUNTIME_FAKE_DEVICE_H_
#define HEDDLE_TESTS_RUNTIME_FAKE_DEVICE_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/error.h"
#include "heddle/operations.h"
#include "heddle/runtime.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/driver/driver.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/runtime/fake_engine.h"
#include "tests/temporary_folder.h"

namespace heddle::testing {

// One kernel each, that compiles in a tenth of a second.
inline Spec dequantize_spec(int n = 64) {
  return Spec::parse(fmt::format(
      R"({{"heddle":1,"op":"dequantize","shape":{{"n":{},"k":256}},"weight":{{"bits":4}},)"
      R"("source":{{"format":"heddle"}},"output":{{"dtype":"fp16"}}}})",
      n));
}

inline Spec gemm_spec(std::int64_t m_max = 8) {
  GemmSpec gemm;
  gemm.shape = {256, 512, 1, m_max};
  return Spec::from_gemm(gemm);
}

// Device memory that is large enough for all that is launched; the fake driver follows no pointer.
inline DeviceOutput memory(std::uintptr_t address, std::size_t bytes = PTRDIFF_MAX) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): only the values matter.
  return {reinterpret_cast<void*>(address), bytes};
}

inline DequantizeArgs dequantize_args() {
  DequantizeArgs args;
  args.source.weights = memory(0x1000);
  args.w = memory(0x2000);
  return args;
}

class FakeDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc().identity();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    fake::reset();
    options_.cache_dir = (folder_.path() / "cache").string();
    options_.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kWarning) warnings_.emplace_back(text);
      if (text.substr(0, 9) == "compiled ") ++compilations_;
    };
  }
  // Whatever a test did, all is given back.
  void TearDown() override {
    fake::heal();
    EXPECT_EQ(fake::live_libraries(), 0);
    EXPECT_EQ(fake::live_references(), 0);
  }

  TemporaryFolder folder_;
  RuntimeOptions options_;
  std::vector<std::string> warnings_;
  int compilations_ = 0;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_FAKE_DEVICE_H_
