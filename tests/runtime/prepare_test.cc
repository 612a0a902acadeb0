// Kernels that are made before they are needed, and streams in capture.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::EngineStream;
using testing::gemm_spec;

class PrepareTest : public testing::FakeDevice {};

TEST_F(PrepareTest, NothingIsCompiledOrLoadedLater) {
  Runtime runtime(options_);
  const EngineContext context;
  const std::vector<Spec> specs = {dequantize_spec(64), gemm_spec(), dequantize_spec(128)};
  std::size_t last = 0;
  const std::vector<Kernel> kernels =
      runtime.prepare(specs, [&](const BuildResult& result, std::size_t done, std::size_t total) {
        EXPECT_NE(result.binary, nullptr);
        EXPECT_EQ(done, last + 1);
        EXPECT_GE(total, 3U);
        last = done;
        return true;
      });
  ASSERT_EQ(kernels.size(), specs.size());
  const int compiled = compilations_;
  const int loaded = fake::count("cuLibraryLoadData");
  EXPECT_EQ(loaded, static_cast<int>(last));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(kernels[i].plan().spec.canonical_json(), specs[i].canonical_json());
    EXPECT_EQ(runtime.kernel(specs[i]).plan().spec.canonical_json(), specs[i].canonical_json());
  }
  runtime.prepare(specs);
  EXPECT_EQ(compilations_, compiled);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), loaded);
}

TEST_F(PrepareTest, SpecsThatShareKernelsShareTheCompilation) {
  Runtime runtime(options_);
  runtime.prepare({dequantize_spec(), dequantize_spec()});
  EXPECT_EQ(compilations_, 1);
}

TEST_F(PrepareTest, CanBeCancelled) {
  options_.jobs = 1;
  Runtime runtime(options_);
  const std::vector<Spec> specs = {dequantize_spec(64), dequantize_spec(128), dequantize_spec(192)};
  int told = 0;
  const auto cancel = [&](const BuildResult&, std::size_t, std::size_t) { return ++told < 2; };
  EXPECT_EQ(code_of([&] { runtime.prepare(specs, cancel); }), "runtime.cancelled");
  EXPECT_EQ(compilations_, 2);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 0);
  told = -10;
  EXPECT_EQ(runtime.prepare(specs, cancel).size(), 3U) << "and be done again";
  EXPECT_EQ(compilations_, 3) << "what was compiled is kept";
  // At the very end: as asked for, though all is there.
  const auto too_late = [&](const BuildResult&, std::size_t done, std::size_t total) {
    return done < total;
  };
  EXPECT_EQ(code_of([&] { Runtime(options_).prepare(specs, too_late); }), "runtime.cancelled");
}

TEST_F(PrepareTest, EverySpecThatCannotBeServedIsNamed) {
  {
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices = {fake::device_of("Fake T4", 7, 5)};
  }
  GemmSpec gemm;
  gemm.shape = {256, 512, 1, 8};
  gemm.activation = DType::kBf16;
  gemm.weight.scale_dtype = DType::kBf16;
  const Spec first = Spec::from_gemm(gemm, "first");
  const Spec second = Spec::from_gemm(gemm, "second");
  Runtime runtime(options_);
  std::string what;
  EXPECT_EQ(code_of(
                [&] {
                  runtime.prepare({first, dequantize_spec(), second});
                },
                &what),
            "runtime.unsupported");
  EXPECT_NE(what.find("first"), std::string::npos) << what;
  EXPECT_NE(what.find("second"), std::string::npos) << what;
  EXPECT_EQ(compilations_, 0);
}

TEST_F(PrepareTest, LaunchesInACapture) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  runtime.prepare({dequantize_spec()});
  stream.begin_capture();
  runtime.kernel(dequantize_spec(), stream.get()).launch(dequantize_args(), stream.get());
  EXPECT_TRUE(stream.end_capture());
  ASSERT_EQ(fake::launches().size(), 1U);
  EXPECT_TRUE(fake::launches()[0].captured);
}

TEST_F(PrepareTest, AMissInACaptureLeavesItValid) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  stream.begin_capture();
  const std::size_t before = fake::calls().size();
  std::string what;
  EXPECT_EQ(code_of([&] { runtime.kernel(dequantize_spec(), stream.get()); }, &what),
            "runtime.capturing");
  EXPECT_NE(what.find(dequantize_spec().canonical_json()), std::string::npos) << what;
  const std::vector<std::string> calls = fake::calls();
  EXPECT_EQ(std::vector<std::string>(calls.begin() + static_cast<long>(before), calls.end()),
            (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxGetDevice", "cuStreamIsCapturing"}));
  EXPECT_TRUE(stream.end_capture());
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec(), stream.get())) << "after it";
}

TEST_F(PrepareTest, TheDefaultStreamNeedsNoContext) {
  Runtime runtime(options_);
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec(), nullptr));
}

// What the check is for: without it, loading breaks the capture.
TEST_F(PrepareTest, LoadingInACaptureBreaksIt) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  stream.begin_capture();
  EXPECT_EQ(code_of([&] { runtime.kernel(dequantize_spec()); }),
            "driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
  EXPECT_FALSE(stream.end_capture());
}

}  // namespace
}  // namespace heddle
