// Kernels prepared, requested and launched in captures, on a real device.
#include <gtest/gtest.h>

#include <optional>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "runtime/driver/driver.h"
#include "tests/gpu/primary_context.h"
#include "tests/memory_only.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

Spec gemm_spec(std::int64_t m_max) {
  GemmSpec spec;
  spec.shape = {256, 512, 1, m_max};
  return Spec::from_gemm(spec);
}

class PrepareGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!Runtime(memory_only()).has_device(&why)) GTEST_SKIP() << "no GPU: " << why;
    context_.emplace();
    cuda::check(cu().cuStreamCreate(&stream_, cuda::CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  void TearDown() override {
    if (!context_) return;
    cu().cuStreamDestroy(stream_);
    context_.reset();
  }
  // In the strictest mode: what any thread does wrong breaks it.
  void begin_capture() {
    const auto global = static_cast<cuda::CUstreamCaptureMode>(0);
    cuda::check(cu().cuStreamBeginCapture(stream_, global), "cuStreamBeginCapture");
  }
  // Whether it came out valid.
  bool end_capture() {
    cuda::CUgraph graph = nullptr;
    const bool valid = cu().cuStreamEndCapture(stream_, &graph) == cuda::CUDA_SUCCESS;
    if (graph != nullptr) cu().cuGraphDestroy(graph);
    return valid;
  }

  std::optional<PrimaryContext> context_;
  cuda::CUstream stream_ = nullptr;
};

TEST_F(PrepareGpu, PreparedKernelsAreServedInACapture) {
  Runtime runtime(memory_only());
  runtime.prepare({gemm_spec(64)});
  begin_capture();
  EXPECT_NO_THROW(runtime.kernel(gemm_spec(64), stream_));
  EXPECT_TRUE(end_capture());
}

TEST_F(PrepareGpu, AMissInACaptureLeavesItValid) {
  Runtime runtime(memory_only());
  begin_capture();
  try {
    runtime.kernel(gemm_spec(64), stream_);
    ADD_FAILURE() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "runtime.capturing");
  }
  EXPECT_TRUE(end_capture());
}

// No launch warms it up: what prepare() loaded is there.
TEST_F(PrepareGpu, TheFirstLaunchMayBeInACapture) {
  Runtime runtime(memory_only());
  const GemmKernel kernel(runtime.prepare({gemm_spec(8)})[0]);
  GemmData problem(kernel, 8);
  problem.make_reference(5, true);
  problem.poison_output();
  problem.stream().synchronize();
  const cuda::CUstream stream = problem.stream().get();
  const auto global = static_cast<cuda::CUstreamCaptureMode>(0);
  cuda::check(cu().cuStreamBeginCapture(stream, global), "cuStreamBeginCapture");
  kernel.launch(problem.args(5), stream);
  cuda::CUgraph graph = nullptr;
  cuda::check(cu().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  cuda::CUgraphExec exec = nullptr;
  cuda::check(cu().cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  cuda::check(cu().cuGraphLaunch(exec, stream), "cuGraphLaunch");
  problem.stream().synchronize();
  EXPECT_LT(problem.relative_error(5), 5e-4);
  cu().cuGraphExecDestroy(exec);
  cu().cuGraphDestroy(graph);
}

TEST_F(PrepareGpu, LoadingAndUnloadingOnTheCapturingThreadLeaveItValid) {
  begin_capture();
  {
    Runtime runtime(memory_only());
    EXPECT_NO_THROW(runtime.kernel(gemm_spec(64)));
    EXPECT_EQ(runtime.prepare({gemm_spec(8)}).size(), 1U);
  }
  EXPECT_TRUE(end_capture());
}

TEST_F(PrepareGpu, ASealedRuntimeMissesInACaptureAndServesWhatItHas) {
  Runtime runtime(memory_only());
  runtime.prepare({gemm_spec(64)});
  runtime.seal();
  begin_capture();
  EXPECT_THROW(runtime.kernel(gemm_spec(8)), Error);
  EXPECT_NO_THROW(runtime.kernel(gemm_spec(64)));
  EXPECT_TRUE(end_capture());
}

TEST_F(PrepareGpu, LoadingInTheBackgroundLeavesACaptureValid) {
  Runtime runtime(memory_only());
  runtime.prepare({gemm_spec(64)});
  begin_capture();
  const KernelRequest request = runtime.request(gemm_spec(8));
  EXPECT_EQ(request.kernel(stream_).plan().spec.gemm().shape.m_max, 64);
  request.wait();
  EXPECT_EQ(request.kernel(stream_).plan().spec.gemm().shape.m_max, 64);
  EXPECT_TRUE(end_capture());
  EXPECT_EQ(request.kernel(stream_).plan().spec.gemm().shape.m_max, 8);
}

TEST_F(PrepareGpu, WhatWasRequestedComputes) {
  Runtime runtime(memory_only());
  const GemmKernel kernel(runtime.request(gemm_spec(8)).wait());
  GemmData problem(kernel, 8);
  problem.make_reference(5, true);
  problem.poison_output();
  kernel.launch(problem.args(5), problem.stream().get());
  problem.stream().synchronize();
  EXPECT_LT(problem.relative_error(5), 5e-4);
}

TEST_F(PrepareGpu, TwoDevices) {
  int count = 0;
  cuda::check(cu().cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count < 2) GTEST_SKIP() << "needs two devices";
  Runtime runtime(memory_only());
  for (const int device : {0, 1, 0}) {
    const PrimaryContext context(device);
    const GemmKernel kernel(runtime.prepare({gemm_spec(8)})[0]);
    GemmData problem(kernel, 8);
    problem.make_reference(8, true);
    problem.poison_output();
    kernel.launch(problem.args(8), problem.stream().get());
    problem.stream().synchronize();
    EXPECT_LT(problem.relative_error(8), 5e-4) << "device " << device;
  }
}

}  // namespace
}  // namespace heddle
