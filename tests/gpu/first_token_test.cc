// General kernels, and the change from them to the final ones, on a real device.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "runtime/driver/driver.h"
#include "tests/gpu/primary_context.h"
#include "tests/memory_only.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostM = 600;
// Rounding the outputs to FP16 gives an error of about 2e-4.
constexpr double kErrorLimit = 5e-4;

GemmSpec wide(std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.shape = {n, k, 1, kMostM};
  spec.weight.zero_point = ZeroPoint::kInt;
  return spec;
}

std::vector<GemmSpec> wide_specs() {
  GemmSpec gated = wide(1024, 512);
  gated.epilogue = {true, Activation::kSilu, false, true};
  GemmSpec ordered = wide(256, 512);
  ordered.act_order = true;
  GemmSpec floats = wide(200, 1056);
  floats.weight.zero_point = ZeroPoint::kFloat;
  floats.weight.group_size = 32;
  return {wide(256, 512), wide(1024, 4096), gated, ordered, floats};
}

class FirstTokenGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!Runtime(memory_only()).has_device(&why)) GTEST_SKIP() << "no GPU: " << why;
    context_.emplace();
    options_ = memory_only();
    options_.log = [this](LogLevel, std::string_view text) {
      std::unique_lock<std::mutex> lock(mutex_);
      if (text.substr(0, 9) == "compiled ") changed_.wait(lock, [this] { return !held_; });
    };
  }
  void TearDown() override {
    release();
    context_.reset();
  }

  // Prepares the spec for one to eight tokens first, and holds up the background.
  Preparation prepare_and_hold(Runtime& runtime, const Spec& spec) {
    return runtime.prepare({spec}, {{1, 8}},
                           [this](const BuildResult&, std::size_t done, std::size_t total) {
                             const std::lock_guard<std::mutex> lock(mutex_);
                             held_ = done == total;
                             return true;
                           });
  }
  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  // Launches and compares with FP64.
  static void check(const GemmKernel& kernel, GemmData& problem, std::int64_t m) {
    problem.renew_workspace(kernel);
    problem.make_reference(m, true);
    problem.poison_output();
    kernel.launch(problem.args(m), problem.stream().get());
    problem.stream().synchronize();
    EXPECT_LT(problem.relative_error(m), kErrorLimit) << "M = " << m;
    EXPECT_TRUE(problem.guards_intact(m)) << "M = " << m;
  }

  std::optional<PrimaryContext> context_;
  RuntimeOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
};

TEST_F(FirstTokenGpu, GeneralAndFinalKernelsCompute) {
  for (const GemmSpec& gemm : wide_specs()) {
    const Spec spec = Spec::from_gemm(gemm);
    SCOPED_TRACE(spec.canonical_json());
    Runtime runtime(options_);
    GemmData problem(gemm, kMostM);
    const Preparation preparation = prepare_and_hold(runtime, spec);
    const KernelRequest& request = preparation.requests()[0];
    const GemmKernel before(request.kernel(problem.stream().get()));
    EXPECT_FALSE(request.ready());
    for (const std::int64_t m : {600, 257, 64, 33, 17, 9, 8, 1}) check(before, problem, m);
    release();
    preparation.wait();
    const GemmKernel after(request.kernel(problem.stream().get()));
    EXPECT_NE(&after.plan(), &before.plan());
    EXPECT_EQ(after.max_workspace_bytes(), before.max_workspace_bytes());
    for (const std::int64_t m : {600, 257, 64, 33, 17, 9, 8, 1}) check(after, problem, m);
  }
}

// What was captured before the change computes after it, too, beside what is launched then.
TEST_F(FirstTokenGpu, AGraphKeepsTheGeneralKernel) {
  constexpr std::int64_t kM = 300;
  const GemmSpec gemm = wide(1024, 4096);
  const Spec spec = Spec::from_gemm(gemm);
  Runtime runtime(options_);
  GemmData problem(gemm, kMostM);
  problem.make_reference(kM, true);
  const Preparation preparation = prepare_and_hold(runtime, spec);
  const cuda::CUstream stream = problem.stream().get();
  problem.renew_workspace(GemmKernel(preparation.requests()[0].kernel(stream)));
  problem.stream().synchronize();
  // In the strictest mode: what any thread does wrong breaks it.
  const auto global = static_cast<cuda::CUstreamCaptureMode>(0);
  cuda::check(cu().cuStreamBeginCapture(stream, global), "cuStreamBeginCapture");
  const Kernel general = runtime.kernel(spec, stream);
  GemmKernel(general).launch(problem.args(kM), stream);
  release();
  preparation.wait();
  EXPECT_EQ(&runtime.kernel(spec, stream).plan(), &general.plan());
  cuda::CUgraph graph = nullptr;
  cuda::check(cu().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  cuda::CUgraphExec exec = nullptr;
  cuda::check(cu().cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  const Kernel best = runtime.kernel(spec, stream);
  EXPECT_NE(&best.plan(), &general.plan());
  for (int round = 0; round < 3; ++round) {
    problem.poison_output();
    cuda::check(cu().cuGraphLaunch(exec, stream), "cuGraphLaunch");
    problem.stream().synchronize();
    EXPECT_LT(problem.relative_error(kM), kErrorLimit) << "of the graph";
    problem.poison_output();
    GemmKernel(best).launch(problem.args(kM), stream);
    problem.stream().synchronize();
    EXPECT_LT(problem.relative_error(kM), kErrorLimit) << "with the same workspace";
  }
  cu().cuGraphExecDestroy(exec);
  cu().cuGraphDestroy(graph);
}

}  // namespace
}  // namespace heddle
