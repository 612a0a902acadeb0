// Urgent kernels of specs that other calls are making, or have failed to make.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/inspect/source.h"
#include "tests/runtime/prepare/prepare_first.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;
using testing::EngineStream;
using testing::kMostM;
using testing::name_for;
using testing::wide_spec;

class PrepareAgainTest : public testing::PrepareFirst {
 protected:
  // Ends what prepare_and_hold() has begun, before all of it is made.
  void cancel_held(const Preparation& preparation) {
    preparation.cancel();
    barrier_.open();
    EXPECT_EQ(code_of([&] { preparation.wait(); }), "runtime.cancelled");
  }
  // Runs act() while this thread waits for something.
  static std::thread a_little_later(std::function<void()> act) {
    return std::thread([act = std::move(act)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      act();
    });
  }
  // Compiles all of the plan into the folder that the runtime under test finds kernels in.
  void compile_elsewhere(const Plan& plan) {
    RuntimeOptions options = options_;
    options.log = nullptr;
    Runtime(options).build(render_all(plan));
  }
};

// Many tokens, whose final kernels share a long K by way of the workspace, and few, whose final
// kernel does not.
Spec workspace_spec() {
  GemmSpec gemm;
  gemm.shape = {1024, 8192, 1, 32};
  gemm.weight.zero_point = ZeroPoint::kInt;
  gemm.path = Path::kAmpere;  // which the compiler is done with sooner
  return Spec::from_gemm(gemm, "workspace");
}

// Kernels that serve few tokens in place of their final kernel, and need more workspace than that.
const MRange kManyTokens = {20, 32};

TEST_F(PrepareAgainTest, CapturesKeepTheirStandIn) {
  EngineStream early, late;
  const Plan plan = final_plan(spec_);
  cancel_held(prepare_and_hold({spec_}));
  early.begin_capture();
  const Kernel begun = runtime_->kernel(spec_, early.get());
  const Preparation again = prepare_and_hold({spec_}, {{kMostM, kMostM}});
  ASSERT_FALSE(again.requests()[0].ready());
  const auto in_early = [&](const KernelRequest& request) {
    return &request.kernel(early.get()).plan();
  };
  EXPECT_EQ(in_early(again.requests()[0]), &begun.plan());
  late.begin_capture();
  EXPECT_EQ(name_for(runtime_->kernel(spec_, late.get()), kMostM), plan.kernels.back().name)
      << "another capture has what the second call has made";
  EXPECT_TRUE(late.end_capture());
  barrier_.open();
  again.wait();
  EXPECT_EQ(in_early(again.requests()[0]), &begun.plan());
  EXPECT_EQ(in_early(runtime_->request(spec_)), &begun.plan());
  EXPECT_EQ(&runtime_->kernel(spec_, early.get()).plan(), &begun.plan());
  EXPECT_TRUE(early.end_capture());
  EXPECT_EQ(&runtime_->kernel(spec_, early.get()).plan(), &again.requests()[0].wait().plan());
}

TEST_F(PrepareAgainTest, CapturesKeepTheirStandInWhenAllIsFound) {
  cancel_held(prepare_and_hold({spec_}));
  stream_->begin_capture();
  const Kernel begun = runtime_->kernel(spec_, stream_->get());
  compile_elsewhere(final_plan(spec_));
  const KernelRequest again = runtime_->prepare({spec_}, {{1, 8}}).requests()[0];
  ASSERT_TRUE(again.ready());
  EXPECT_EQ(&again.kernel(stream_->get()).plan(), &begun.plan());
  EXPECT_EQ(&runtime_->request(spec_).kernel(stream_->get()).plan(), &begun.plan());
  EXPECT_TRUE(stream_->end_capture());
  EXPECT_EQ(&again.kernel(stream_->get()).plan(), &again.wait().plan());
}

TEST_F(PrepareAgainTest, CapturesKeepTheirStandInWhenAllIsPrepared) {
  cancel_held(prepare_and_hold({spec_}));
  stream_->begin_capture();
  const Kernel begun = runtime_->kernel(spec_, stream_->get());
  runtime_->prepare({spec_});
  EXPECT_EQ(&runtime_->request(spec_).kernel(stream_->get()).plan(), &begun.plan());
  runtime_->seal();
  const KernelRequest again = runtime_->prepare({spec_}, {{1, kMostM}}).requests()[0];
  EXPECT_TRUE(again.ready());
  EXPECT_EQ(&again.kernel(stream_->get()).plan(), &begun.plan());
  EXPECT_TRUE(stream_->end_capture());
  EXPECT_EQ(&again.kernel(stream_->get()).plan(), &again.wait().plan());
}

// One call waits for what another has begun, which then ends early.
TEST_F(PrepareAgainTest, WhatAnotherCallCancelsIsMade) {
  const Preparation first = prepare_and_hold({spec_});
  std::thread canceller = a_little_later([&] {
    first.cancel();
    barrier_.open();
  });
  const Preparation second = runtime_->prepare({spec_, spec_}, {{kMostM, kMostM}, {1, 8}});
  canceller.join();
  EXPECT_EQ(code_of([&] { first.wait(); }), "runtime.cancelled");
  EXPECT_EQ(name_for(second.requests()[0].kernel(nullptr), kMostM), last_name(spec_));
  EXPECT_NO_THROW(second.wait());
}

TEST_F(PrepareAgainTest, WhatFailsAgainIsThrown) {
  const Preparation first = prepare_and_hold({spec_});
  std::thread opener = a_little_later([&] {
    fake::fail("cuLibraryLoadData", 2);
    barrier_.open();
  });
  const auto prepare_last = [&] { return runtime_->prepare({spec_}, {{kMostM, kMostM}}); };
  EXPECT_EQ(code_of(prepare_last), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  opener.join();
  EXPECT_EQ(code_of([&] { first.wait(); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(PrepareAgainTest, SealedRuntimesDoNotTryAgain) {
  const Preparation first = prepare_and_hold({spec_});
  std::thread canceller = a_little_later([&] {
    first.cancel();
    runtime_->seal();
    barrier_.open();
  });
  const auto prepare_last = [&] { return runtime_->prepare({spec_}, {{kMostM, kMostM}}); };
  EXPECT_EQ(code_of(prepare_last), "runtime.sealed");
  canceller.join();
  EXPECT_EQ(code_of(prepare_last), "runtime.sealed");
  EXPECT_NO_THROW(runtime_->prepare({spec_}, {{1, 8}})) << "what stands in has these";
}

TEST_F(PrepareAgainTest, WorkspacesDoForBothWhenAnotherCallMakesTheFinalKernel) {
  const Spec spec = workspace_spec();
  const Plan plan = final_plan(spec);
  // The background is held up at the first spec, so that this test can make the other one.
  const Preparation preparation = prepare_and_hold({wide_spec(), spec}, {{1, 8}, kManyTokens});
  const KernelRequest& request = preparation.requests()[1];
  const GemmKernel before(request.kernel(stream_->get()));
  ASSERT_GT(before.plan().workspace_bytes(1), plan.workspace_bytes(1));
  compile_elsewhere(plan);
  runtime_->prepare({spec});
  barrier_.open();
  preparation.wait();
  const GemmKernel after(request.kernel(stream_->get()));
  EXPECT_EQ(&runtime_->kernel(spec).plan(), &after.plan());
  EXPECT_EQ(before.max_workspace_bytes(), after.max_workspace_bytes());
  for (std::int64_t m = 1; m <= kManyTokens.max; ++m) {
    EXPECT_EQ(before.workspace_bytes(m), after.workspace_bytes(m));
    EXPECT_GE(after.workspace_bytes(m), before.plan().workspace_bytes(m));
  }
}

TEST_F(PrepareAgainTest, WorkspacesDoForBothAfterAFailure) {
  const Spec spec = workspace_spec();
  const Plan plan = final_plan(spec);
  const Preparation preparation = prepare_and_hold({spec}, {kManyTokens});
  const GemmKernel before(preparation.requests()[0].kernel(stream_->get()));
  ASSERT_GT(before.plan().workspace_bytes(1), plan.workspace_bytes(1));
  cancel_held(preparation);
  const Preparation again = runtime_->prepare({spec}, {{1, 1}});
  const GemmKernel meanwhile(again.requests()[0].kernel(stream_->get()));
  again.wait();
  const GemmKernel after(again.requests()[0].kernel(stream_->get()));
  for (const GemmKernel& kernel : {meanwhile, after}) {
    EXPECT_GE(kernel.workspace_bytes(1), before.plan().workspace_bytes(1))
        << "captures may go on with the first stand-in";
  }
}

TEST_F(PrepareAgainTest, WorkspacesDoForBothWhenAFailedRequestIsPrepared) {
  const Spec spec = workspace_spec();
  const Preparation preparation = prepare_and_hold({spec}, {kManyTokens});
  const GemmKernel before(preparation.requests()[0].kernel(stream_->get()));
  cancel_held(preparation);
  ASSERT_GT(before.plan().workspace_bytes(1), final_plan(spec).workspace_bytes(1));
  runtime_->prepare({spec});
  const GemmKernel after(runtime_->kernel(spec, stream_->get()));
  ASSERT_NE(&before.plan(), &after.plan());
  EXPECT_EQ(before.workspace_bytes(1), after.workspace_bytes(1));
  EXPECT_EQ(&runtime_->kernel(spec).plan(), &after.plan());
}

// The second of two calls at the same time begins, and compiles, nothing.
TEST_F(PrepareAgainTest, OneOfTwoCallsBeginsTheWork) {
  barrier_.shut();
  std::optional<Preparation> inner;
  const auto prepare_inside = [&](const BuildResult&, std::size_t done, std::size_t total) {
    if (done == total) {
      urgent_made_ = true;
      inner = runtime_->prepare({spec_}, {{1, 8}});
    }
    return true;
  };
  const Preparation outer = runtime_->prepare({spec_}, {{1, 8}}, prepare_inside);
  ASSERT_TRUE(inner);
  EXPECT_GT(inner->status().total, 0U);
  EXPECT_EQ(outer.status().total, 0U);
  cancel_held(*inner);
  EXPECT_TRUE(outer.status().ended);
  const int made = made_.load();
  runtime_->request(dequantize_spec()).wait();  // comes after all that was begun until now
  EXPECT_EQ(made_, made + 1) << "nothing more was made once it had ended";
}

}  // namespace
}  // namespace heddle
