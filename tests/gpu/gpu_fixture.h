// Fixture of the tests that need a GPU.
#ifndef HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
#define HEDDLE_TESTS_GPU_GPU_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/shared_runtime.h"

namespace heddle {

// Skips where there is none.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!runtime().has_device(&why)) GTEST_SKIP() << "no GPU: " << why;
  }
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_GPU_FIXTURE_H_
