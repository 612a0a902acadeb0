// Urgent kernels of specs that other calls are making, or have failed to make.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "heddle/inspect/source.h"
#include "tests/runtime/prepare_first.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;
using testing::EngineContext;
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
  // Compiles all of the plan into the folder that the runtime under test finds kernels in.
  void compile_elsewhere(const Plan& plan) {
    RuntimeOptions options = options_;
    options.log = nullptr;
    Runtime(options).build(render_all(plan));
  }
};

TEST_F(PrepareAgainTest, CapturesKeepTheirStandIn) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream early, late;
  const Spec spec = wide_spec();
  const Plan plan = final_plan(runtime, spec);
  cancel_held(prepare_and_hold(runtime, {spec}));
  early.begin_capture();
  const Kernel begun = runtime.kernel(spec, early.get());
  const Preparation again = prepare_and_hold(runtime, {spec}, {{kMostM, kMostM}});
  ASSERT_FALSE(again.requests()[0].ready());
  const auto in_early = [&](const KernelRequest& request) {
    return &request.kernel(early.get()).plan();
  };
  EXPECT_EQ(in_early(again.requests()[0]), &begun.plan());
  late.begin_capture();
  EXPECT_EQ(name_for(runtime.kernel(spec, late.get()), kMostM), plan.kernels.back().name)
      << "another capture has what the second call has made";
  EXPECT_TRUE(late.end_capture());
  barrier_.open();
  again.wait();
  EXPECT_EQ(in_early(again.requests()[0]), &begun.plan());
  EXPECT_EQ(in_early(runtime.request(spec)), &begun.plan());
  EXPECT_EQ(&runtime.kernel(spec, early.get()).plan(), &begun.plan());
  EXPECT_TRUE(early.end_capture());
  EXPECT_EQ(&runtime.kernel(spec, early.get()).plan(), &again.requests()[0].wait().plan());
}

TEST_F(PrepareAgainTest, CapturesKeepTheirStandInWhenAllIsFound) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  const Spec spec = wide_spec();
  cancel_held(prepare_and_hold(runtime, {spec}));
  stream.begin_capture();
  const Kernel begun = runtime.kernel(spec, stream.get());
  compile_elsewhere(final_plan(runtime, spec));
  const KernelRequest again = runtime.prepare({spec}, {{1, 8}}).requests()[0];
  ASSERT_TRUE(again.ready());
  EXPECT_EQ(&again.kernel(stream.get()).plan(), &begun.plan());
  EXPECT_EQ(&runtime.request(spec).kernel(stream.get()).plan(), &begun.plan());
  EXPECT_TRUE(stream.end_capture());
  EXPECT_EQ(&again.kernel(stream.get()).plan(), &again.wait().plan());
}

TEST_F(PrepareAgainTest, CapturesKeepTheirStandInWhenAllIsPrepared) {
  Runtime runtime(options_);
  const EngineContext context;
  EngineStream stream;
  const Spec spec = wide_spec();
  cancel_held(prepare_and_hold(runtime, {spec}));
  stream.begin_capture();
  const Kernel begun = runtime.kernel(spec, stream.get());
  runtime.prepare({spec});
  EXPECT_EQ(&runtime.request(spec).kernel(stream.get()).plan(), &begun.plan());
  runtime.seal();
  const KernelRequest again = runtime.prepare({spec}, {{1, kMostM}}).requests()[0];
  EXPECT_TRUE(again.ready());
  EXPECT_EQ(&again.kernel(stream.get()).plan(), &begun.plan());
  EXPECT_TRUE(stream.end_capture());
  EXPECT_EQ(&again.kernel(stream.get()).plan(), &again.wait().plan());
}

// One call waits for what another has begun, which then ends early.
TEST_F(PrepareAgainTest, WhatAnotherCallCancelsIsMade) {
  Runtime runtime(options_);
  const EngineContext context;
  const Spec spec = wide_spec();
  const Preparation first = prepare_and_hold(runtime, {spec});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first.cancel();
    barrier_.open();
  });
  const Preparation second = runtime.prepare({spec, spec}, {{kMostM, kMostM}, {1, 8}});
  canceller.join();
  EXPECT_EQ(code_of([&] { first.wait(); }), "runtime.cancelled");
  EXPECT_EQ(name_for(second.requests()[0].kernel(nullptr), kMostM),
            final_plan(runtime, spec).kernels.back().name);
  EXPECT_NO_THROW(second.wait());
}

TEST_F(PrepareAgainTest, WhatFailsAgainIsThrown) {
  Runtime runtime(options_);
  const EngineContext context;
  const Spec spec = wide_spec();
  const Preparation first = prepare_and_hold(runtime, {spec});
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fake::fail("cuLibraryLoadData", 2);
    barrier_.open();
  });
  const auto prepare_last = [&] { return runtime.prepare({spec}, {{kMostM, kMostM}}); };
  EXPECT_EQ(code_of(prepare_last), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  opener.join();
  EXPECT_EQ(code_of([&] { first.wait(); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(PrepareAgainTest, SealedRuntimesDoNotTryAgain) {
  Runtime runtime(options_);
  const EngineContext context;
  const Spec spec = wide_spec();
  const Preparation first = prepare_and_hold(runtime, {spec});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first.cancel();
    runtime.seal();
    barrier_.open();
  });
  const auto prepare_last = [&] { return runtime.prepare({spec}, {{kMostM, kMostM}}); };
  EXPECT_EQ(code_of(prepare_last), "runtime.sealed");
  canceller.join();
  EXPECT_EQ(code_of(prepare_last), "runtime.sealed");
  EXPECT_NO_THROW(runtime.prepare({spec}, {{1, 8}})) << "what stands in has these";
}

// The second of two calls at the same time begins, and compiles, nothing.
TEST_F(PrepareAgainTest, OneOfTwoCallsBeginsTheWork) {
  Runtime runtime(options_);
  const EngineContext context;
  const Spec spec = wide_spec();
  barrier_.shut();
  std::optional<Preparation> inner;
  const auto prepare_inside = [&](const BuildResult&, std::size_t done, std::size_t total) {
    if (done == total) {
      urgent_made_ = true;
      inner = runtime.prepare({spec}, {{1, 8}});
    }
    return true;
  };
  const Preparation outer = runtime.prepare({spec}, {{1, 8}}, prepare_inside);
  ASSERT_TRUE(inner);
  EXPECT_GT(inner->status().total, 0U);
  EXPECT_EQ(outer.status().total, 0U);
  cancel_held(*inner);
  EXPECT_TRUE(outer.status().ended);
  const int made = made_.load();
  runtime.request(dequantize_spec()).wait();  // comes after all that was begun until now
  EXPECT_EQ(made_, made + 1) << "nothing more was made once it had ended";
}

}  // namespace
}  // namespace heddle
