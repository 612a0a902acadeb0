// Kernels that are made in the background.
#include <gtest/gtest.h>

#include "runtime/prepare/kernel_table.h"
#include "tests/runtime/barrier.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::Barrier;
using testing::code_of;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::EngineStream;
using testing::gemm_spec;

class RequestTest : public testing::FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    options_.log = [this](LogLevel, std::string_view) { barrier_.pass(); };
  }
  Barrier barrier_;  // compilations wait at it
};

std::int64_t m_max_of(const Kernel& kernel) { return kernel.plan().spec.gemm().shape.m_max; }

TEST_F(RequestTest, AGeneralKernelStandsInUntilItIsReady) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  runtime.prepare({gemm_spec(64)});
  barrier_.shut();
  const KernelRequest request = runtime.request(gemm_spec(8));
  EXPECT_FALSE(request.ready());
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 64);
  stream.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 64);
  barrier_.open();
  request.wait();
  EXPECT_TRUE(request.ready());
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 64) << "never inside of a capture";
  EXPECT_TRUE(stream.end_capture()) << "the background thread loads code in spite of it";
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 8);
  stream.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 8) << "it has taken over";
  EXPECT_EQ(m_max_of(runtime.kernel(gemm_spec(8), stream.get())), 8) << "and is prepared";
  EXPECT_TRUE(stream.end_capture());
}

TEST_F(RequestTest, ACaptureKeepsItsKernelWhenAnotherStreamChanges) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream early, late, eager;
  runtime.prepare({gemm_spec(64)});
  barrier_.shut();
  const KernelRequest request = runtime.request(gemm_spec(8));
  early.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(early.get())), 64);
  barrier_.open();
  request.wait();
  EXPECT_EQ(m_max_of(request.kernel(eager.get())), 8) << "it has taken over";
  EXPECT_EQ(m_max_of(request.kernel(early.get())), 64) << "but not where the capture has begun";
  late.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(late.get())), 8) << "another capture";
  EXPECT_TRUE(late.end_capture());
  EXPECT_TRUE(early.end_capture());
  early.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(early.get())), 8) << "the next capture of the same stream";
  EXPECT_TRUE(early.end_capture());
}

TEST_F(RequestTest, ACaptureThatBeginsWhenItIsReadyHasIt) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  runtime.prepare({gemm_spec(64)});
  const KernelRequest request = runtime.request(gemm_spec(8));
  request.wait();
  stream.begin_capture();
  EXPECT_EQ(m_max_of(request.kernel(stream.get())), 8);
  EXPECT_TRUE(stream.end_capture());
}

TEST_F(RequestTest, WithoutAGeneralKernel) {
  Runtime runtime(options_);
  const EngineContext context;
  barrier_.shut();
  const KernelRequest request = runtime.request(dequantize_spec());
  EXPECT_EQ(code_of([&] { request.kernel(nullptr); }), "runtime.not_ready");
  barrier_.open();
  const Kernel kernel = request.wait();
  EXPECT_EQ(&request.kernel(nullptr).plan(), &kernel.plan());
  EXPECT_TRUE(runtime.request(dequantize_spec()).ready()) << "at once";
}

TEST_F(RequestTest, WithoutAContext) {
  Runtime runtime(options_);
  const KernelRequest request = runtime.request(dequantize_spec());
  EXPECT_EQ(request.wait().plan().spec.op(), Op::kDequantize);
}

TEST_F(RequestTest, FailureIsToldByWait) {
  Runtime runtime(options_);
  const EngineContext context;
  runtime.prepare({gemm_spec(64)});
  fake::fail("cuLibraryLoadData", 2);
  const KernelRequest request = runtime.request(gemm_spec(8));
  EXPECT_EQ(code_of([&] { request.wait(); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(m_max_of(request.kernel(nullptr)), 64) << "the general one goes on";
  const KernelRequest alone = runtime.request(dequantize_spec());
  EXPECT_EQ(code_of([&] { alone.wait(); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(code_of([&] { alone.kernel(nullptr); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  fake::heal();
  EXPECT_NO_THROW(runtime.request(dequantize_spec()).wait()) << "a failure is not kept";
}

TEST_F(RequestTest, ARuntimeThatIsDestroyedCancelsWhatHasNotBegun) {
  auto runtime = std::make_unique<Runtime>(options_);
  const EngineContext context;
  barrier_.shut();
  std::vector<KernelRequest> requests;
  for (const int n : {64, 128, 192}) requests.push_back(runtime->request(dequantize_spec(n)));
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    barrier_.open();
  });
  runtime.reset();
  opener.join();
  EXPECT_EQ(code_of([&] { requests[2].wait(); }), "runtime.cancelled");
}

TEST(Serves, WhatDiffersInTileAndRangeOnly) {
  GemmSpec gemm;
  gemm.shape = {256, 512, 4, 64};
  const Spec general = Spec::from_gemm(gemm, "general");
  const auto with = [&](auto change) {
    GemmSpec changed = gemm;
    change(&changed);
    return serves(general, Spec::from_gemm(changed));
  };
  EXPECT_TRUE(with([](GemmSpec* spec) { spec->shape.m_min = 8; }));
  EXPECT_TRUE(with([](GemmSpec* spec) { spec->path = Path::kAmpere; }));
  EXPECT_TRUE(with([](GemmSpec* spec) { spec->tile.stages = 3; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->shape.m_min = 3; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->shape.m_max = 65; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->shape.n = 512; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->epilogue.bias = true; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->weight.bits = 8; }));
  EXPECT_FALSE(with([](GemmSpec* spec) { spec->activation = DType::kBf16; }));
  EXPECT_FALSE(serves(general, dequantize_spec()));
  EXPECT_TRUE(serves(dequantize_spec(), dequantize_spec()));
}

}  // namespace
}  // namespace heddle
