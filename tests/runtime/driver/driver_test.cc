#include "runtime/driver/driver.h"

#include <gtest/gtest.h>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tests/memory_only.h"

namespace heddle {
namespace {

TEST(DriverTest, TellsWhyThereIsNoDeviceOrHasOne) {
  std::string why_not;
  const bool has_device = Runtime(memory_only()).has_device(&why_not);
  EXPECT_EQ(has_device, why_not.empty()) << why_not;
}

TEST(DriverTest, ThrowsWhatTryDriverReports) {
  std::string why_not;
  if (cuda::try_driver(&why_not) != nullptr) GTEST_SKIP() << "there is a driver";
  EXPECT_FALSE(why_not.empty());
  try {
    Runtime(memory_only()).device_target();
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kDriver);
    EXPECT_EQ(error.code().rfind("driver.", 0), 0U) << error.code();
    EXPECT_EQ(error.what(), why_not);
  }
}

TEST(DriverTest, CheckNamesTheCallAndTheResult) {
  cuda::check(cuda::CUDA_SUCCESS, "cuLaunchKernelEx");
  try {
    cuda::check(static_cast<cuda::CUresult>(987654), "cuLaunchKernelEx");
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kDriver);
    EXPECT_EQ(error.code(), "driver.987654");
    EXPECT_NE(std::string(error.what()).find("cuLaunchKernelEx"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle
