// examples/decoder on the fake driver.
#ifndef HEDDLE_TESTS_DECODER_FAKE_DECODER_H_
#define HEDDLE_TESTS_DECODER_FAKE_DECODER_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "examples/decoder/decoder.h"
#include "runtime/compile/nvrtc.h"
#include "tests/decoder/emulated_gpu.h"
#include "tests/decoder/small_model.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/runtime/fake_engine.h"
#include "tests/shared_runtime.h"

namespace heddle::testing {

class FakeDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc().identity();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    take_emulated_gpu();
    context_ = std::make_unique<EngineContext>();
    stream_ = std::make_unique<EngineStream>();
  }
  void TearDown() override { fake::reset(); }

  ::Model open(const SmallModel& small, const std::string& kv, std::int64_t batch) {
    small.write(folder_);
    return ::Model(folder_.path(), kv, batch);
  }

  TemporaryFolder folder_;
  std::unique_ptr<EngineContext> context_;
  std::unique_ptr<EngineStream> stream_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_DECODER_FAKE_DECODER_H_
