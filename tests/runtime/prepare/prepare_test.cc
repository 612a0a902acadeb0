// Kernels that are made before they are needed, and streams in capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "heddle/inspect/source.h"
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

TEST_F(PrepareTest, ABuildCanBeCancelledToo) {
  options_.jobs = 1;
  Runtime runtime(options_);
  std::vector<Source> sources;
  for (const int n : {64, 128, 192}) {
    sources.push_back(render(resolve(dequantize_spec(n), target_from_name("a100")), 0));
  }
  int told = 0;
  const auto cancel = [&](const BuildResult&, std::size_t, std::size_t) { return ++told < 2; };
  EXPECT_EQ(code_of([&] { runtime.build_cancellable(sources, cancel); }), "runtime.cancelled");
  EXPECT_EQ(compilations_, 2);
  EXPECT_EQ(runtime.build_cancellable(sources, {}).size(), 3U);
  EXPECT_EQ(compilations_, 3) << "what was compiled is kept";
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
  const std::vector<Spec> specs = {first, dequantize_spec(), second};
  for (const bool all : {true, false}) {
    std::string what;
    const auto prepare = [&] {
      if (all) {
        runtime.prepare(specs);
      } else {
        runtime.prepare(specs, {{1, 8}});
      }
    };
    EXPECT_EQ(code_of(prepare, &what), "runtime.unsupported");
    EXPECT_NE(what.find("first"), std::string::npos) << what;
    EXPECT_NE(what.find("second"), std::string::npos) << what;
  }
  EXPECT_EQ(compilations_, 0);
}

TEST_F(PrepareTest, LaunchesInACapture) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  runtime.prepare({dequantize_spec()});
  stream.begin_capture();
  runtime.kernel<DequantizeKernel>(dequantize_spec(), stream.get())
      .launch(dequantize_args(), stream.get());
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
            (std::vector<std::string>{"cuStreamGetCaptureInfo"}));
  EXPECT_TRUE(stream.end_capture());
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec(), stream.get())) << "after it";
}

TEST_F(PrepareTest, TheDefaultStreamNeedsNoContext) {
  Runtime runtime(options_);
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec(), nullptr));
}

TEST_F(PrepareTest, WithoutAStreamTooACaptureStaysValid) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  stream.begin_capture();
  {
    const auto kernel = runtime.kernel<DequantizeKernel>(dequantize_spec());
    kernel.launch(dequantize_args(), stream.get());
    EXPECT_EQ(runtime.prepare({gemm_spec()}).size(), 1U);
    EXPECT_NO_THROW(runtime.request(dequantize_spec(128)).wait());
  }
  EXPECT_GT(fake::count("cuLibraryUnload"), 0) << "which breaks captures as loading does";
  EXPECT_TRUE(stream.end_capture());
  ASSERT_EQ(fake::launches().size(), 1U);
  EXPECT_TRUE(fake::launches()[0].captured);
}

TEST_F(PrepareTest, ThreadsWithoutAContextBreakNoCapture) {
  const EngineContext context;
  EngineStream stream;
  stream.begin_capture();
  std::thread([this] {
    Runtime runtime(options_);
    runtime.prepare({dequantize_spec()});
  }).join();
  EXPECT_TRUE(stream.end_capture());
}

// What the tests above rest on: without Heddle's care, the same calls break a capture.
TEST_F(PrepareTest, LoadingCarelesslyBreaksACapture) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  const auto binary =
      runtime.build(render_all(resolve(dequantize_spec(), runtime.device_target())))[0].binary;
  stream.begin_capture();
  cuda::CUlibrary library = nullptr;
  EXPECT_NE(cuda::driver().cuLibraryLoadData(&library, binary->cubin.data(), nullptr, nullptr, 0,
                                             nullptr, nullptr, 0),
            cuda::CUDA_SUCCESS);
  EXPECT_FALSE(stream.end_capture());
}

// The calls of the driver that work() makes.
template <typename Work>
std::vector<std::string> calls_of(const Work& work) {
  const std::size_t before = fake::calls().size();
  work();
  const std::vector<std::string> calls = fake::calls();
  return {calls.begin() + static_cast<long>(before), calls.end()};
}

TEST_F(PrepareTest, SealedRuntimesMissWithoutTheDriver) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  runtime.prepare({dequantize_spec()});
  const Plan other = resolve(dequantize_spec(128), runtime.device_target());
  runtime.seal();
  stream.begin_capture();
  std::string what;
  const auto refused = [&](auto work) {
    return calls_of([&] { EXPECT_EQ(code_of(work, &what), "runtime.sealed"); }).empty();
  };
  EXPECT_TRUE(refused([&] { runtime.kernel(dequantize_spec(128)); }));
  EXPECT_NE(what.find(dequantize_spec(128).canonical_json()), std::string::npos) << what;
  EXPECT_TRUE(refused([&] { runtime.kernel(dequantize_spec(128), stream.get()); }));
  EXPECT_TRUE(refused([&] { runtime.request(dequantize_spec(128)); }));
  EXPECT_TRUE(refused([&] { runtime.load(other); }));
  EXPECT_TRUE(refused([&] { runtime.build(render_all(other)); }));
  EXPECT_TRUE(refused([&] { runtime.prepare({dequantize_spec(128), dequantize_spec(192)}); }));
  EXPECT_NE(what.find("\"n\":192"), std::string::npos) << "all of them: " << what;
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec()));
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec(), stream.get()));
  EXPECT_EQ(runtime.prepare({dequantize_spec()}).size(), 1U);
  EXPECT_TRUE(runtime.request(dequantize_spec()).ready());
  EXPECT_TRUE(stream.end_capture());
  EXPECT_EQ(compilations_, 1);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 1);
}

TEST_F(PrepareTest, SealedRuntimesTellDevicesApart) {
  {
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices.push_back(fake::device_of("Fake A100", 8, 0));
  }
  Runtime runtime(options_);
  {
    const EngineContext first(0);
    runtime.prepare({dequantize_spec()});
  }
  runtime.seal();
  const EngineContext second(1);
  EXPECT_EQ(code_of([&] { runtime.kernel(dequantize_spec()); }), "runtime.sealed");
  EXPECT_EQ(code_of([&] { runtime.request(dequantize_spec()); }), "runtime.sealed");
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 1);
}

TEST_F(PrepareTest, WhatWasRequestedBeforeTheSealIsMade) {
  Runtime runtime(options_);
  const EngineContext context;
  const KernelRequest request = runtime.request(dequantize_spec());
  runtime.seal();
  EXPECT_NO_THROW(request.wait());
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec()));
}

}  // namespace
}  // namespace heddle
