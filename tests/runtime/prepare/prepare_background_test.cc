// What the background does with kernels that are not urgent: ends, failures, seals, threads.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/prepare/prepare_first.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::EngineContext;
using testing::EngineStream;
using testing::kMostM;
using testing::name_for;
using testing::wide_spec;

class PrepareBackgroundTest : public testing::PrepareFirst {};

TEST_F(PrepareBackgroundTest, AnotherUrgentRangeIsWaitedFor) {
  const Preparation first = prepare_and_hold({spec_});
  EXPECT_FALSE(runtime_->prepare({spec_}, {{1, 4}}).requests()[0].ready()) << "it has these";
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    barrier_.open();
  });
  EXPECT_TRUE(runtime_->prepare({spec_}, {{40, kMostM}}).requests()[0].ready());
  opener.join();
}

TEST_F(PrepareBackgroundTest, AKernelWithoutAStreamIsTheBest) {
  const Preparation preparation = prepare_and_hold({spec_});
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    barrier_.open();
  });
  EXPECT_EQ(name_for(runtime_->kernel(spec_), kMostM), last_name(spec_));
  opener.join();
}

TEST_F(PrepareBackgroundTest, CancelledWhileTheUrgentOnesAreMade) {
  const auto cancel = [](const BuildResult&, std::size_t, std::size_t) { return false; };
  EXPECT_EQ(code_of([&] { runtime_->prepare({spec_}, {{1, 8}}, cancel); }), "runtime.cancelled");
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), 0);
  EXPECT_NO_THROW(runtime_->prepare({spec_}, {{1, 8}}).wait()) << "and can be done again";
}

TEST_F(PrepareBackgroundTest, CancelledInTheBackground) {
  const Preparation preparation = prepare_and_hold({spec_, wide_spec(512)});
  const int made = made_.load();
  preparation.cancel();
  barrier_.open();
  EXPECT_EQ(code_of([&] { preparation.wait(); }), "runtime.cancelled");
  EXPECT_TRUE(preparation.status().ended);
  EXPECT_LE(made_, made + 2) << "what was being compiled, and no more";
  EXPECT_TRUE(errors_.empty()) << "it was asked for";
  EXPECT_NO_THROW(runtime_->kernel(spec_, stream_->get())) << "by what stands in";
  stream_->begin_capture();
  const Kernel general = runtime_->kernel(spec_, stream_->get());
  const std::string last = last_name(spec_);
  EXPECT_NE(name_for(general, kMostM), last);
  EXPECT_EQ(name_for(runtime_->prepare({spec_})[0], kMostM), last) << "this call makes all";
  EXPECT_EQ(&runtime_->kernel(spec_, stream_->get()).plan(), &general.plan()) << "in the capture";
  EXPECT_TRUE(stream_->end_capture());
  EXPECT_EQ(name_for(runtime_->kernel(spec_, stream_->get()), kMostM), last);
  EXPECT_NO_THROW(runtime_->request(wide_spec(512)).wait()) << "it is tried again";
  EXPECT_EQ(name_for(runtime_->kernel(wide_spec(512), nullptr), kMostM),
            final_plan(wide_spec(512)).kernels.back().name);
}

TEST_F(PrepareBackgroundTest, ErrorsInTheBackgroundAreTold) {
  const Preparation preparation = prepare_and_hold({spec_});
  fake::fail("cuLibraryLoadData", 2);
  barrier_.open();
  EXPECT_EQ(code_of([&] { preparation.wait(); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_NE(errors_[0].find(spec_.canonical_json()), std::string::npos) << errors_[0];
  EXPECT_NO_THROW(preparation.requests()[0].kernel(nullptr)) << "the general one goes on";
  EXPECT_EQ(code_of([&] { runtime_->kernel(spec_); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  fake::heal();
  EXPECT_EQ(name_for(runtime_->kernel(spec_), kMostM), last_name(spec_));
  EXPECT_NO_THROW(runtime_->prepare({spec_}, {{1, 8}}).wait()) << "a failure is not kept";
}

TEST_F(PrepareBackgroundTest, SealedWhileTheBackgroundIsAtWork) {
  const Preparation preparation = prepare_and_hold({spec_});
  runtime_->seal();
  const Kernel general = runtime_->kernel(spec_, stream_->get());
  EXPECT_EQ(code_of([&] { runtime_->kernel(spec_); }), "runtime.sealed") << "it would have to wait";
  EXPECT_EQ(code_of([&] { runtime_->prepare({spec_}); }), "runtime.sealed");
  EXPECT_FALSE(runtime_->prepare({spec_}, {{1, 8}}).requests()[0].ready());
  const auto prepare_last = [&] { return runtime_->prepare({spec_}, {{kMostM, kMostM}}); };
  EXPECT_EQ(code_of(prepare_last), "runtime.sealed") << "its final kernel is not there";
  EXPECT_EQ(code_of([&] { runtime_->prepare({wide_spec(512)}, {{1, 8}}); }), "runtime.sealed");
  EXPECT_FALSE(runtime_->request(spec_).ready());
  barrier_.open();
  preparation.wait();
  EXPECT_NE(&runtime_->kernel(spec_, stream_->get()).plan(), &general.plan());
  EXPECT_NO_THROW(runtime_->kernel(spec_));
  EXPECT_TRUE(prepare_last().requests()[0].ready());
}

TEST_F(PrepareBackgroundTest, ARuntimeThatIsDestroyedStops) {
  const Preparation preparation =
      prepare_and_hold({wide_spec(256), wide_spec(512), wide_spec(1024)});
  const int made = made_.load();
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    barrier_.open();
  });
  runtime_.reset();
  opener.join();
  EXPECT_LE(made_, made + 2);
  EXPECT_TRUE(preparation.status().ended);
  EXPECT_EQ(code_of([&] { preparation.wait(); }), "runtime.cancelled");
  EXPECT_NO_THROW(preparation.requests()[0].kernel(nullptr)) << "it outlives its runtime";
}

TEST_F(PrepareBackgroundTest, ThreadsLaunchWhileItChangesOver) {
  const Preparation preparation = prepare_and_hold({spec_});
  std::vector<std::thread> threads;
  // No thread may retain or release a context while another one captures.
  std::latch ready(4);
  std::latch done(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const EngineContext own;
      EngineStream stream;
      ready.arrive_and_wait();
      for (int round = 0; round < 200; ++round) {
        stream.begin_capture();
        const Kernel one = runtime_->kernel(spec_, stream.get());
        const Kernel other = preparation.requests()[0].kernel(stream.get());
        EXPECT_EQ(&one.plan(), &other.plan());
        EXPECT_TRUE(stream.end_capture());
        if (round == 50) barrier_.open();
      }
      done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NO_THROW(preparation.wait());
}

}  // namespace
}  // namespace heddle
