// The states of a spec's kernels, and what leads from one to the next.
#include "runtime/prepare/kernel_table.h"

#include <future>
#include <stdexcept>
#include <vector>

#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::EngineContext;
using testing::gemm_spec;

class KernelTableTest : public testing::FakeDevice {
 protected:
  static constexpr cuda::CUdevice kDevice = 0;

  void SetUp() override {
    FakeDevice::SetUp();
    if (IsSkipped()) return;
    Runtime runtime(options_);
    const EngineContext context;
    kernels_ = runtime.prepare({spec_, gemm_spec(64)});
    kernels_.push_back(runtime.load(kernels_[0].plan()));
  }
  void TearDown() override {
    last_.reset();
    background_ = {};
    kernels_.clear();
    FakeDevice::TearDown();
  }
  // A call that leaves kernels to the background: whether it had to begin the work.
  bool begin(KernelTable* table) {
    bool begun = false;
    last_ = table->begin(kDevice, spec_, [&](const KernelRequest::State* failed) {
      begun = true;
      failed_ = failed;
      background_ = {};
      Request request = table->new_request(background_.get_future().share(), failed);
      request->stand_in = kernels_[1];
      return request;
    });
    return begun;
  }
  void fail() {
    background_.set_exception(std::make_exception_ptr(std::runtime_error("of the background")));
  }

  const Spec spec_ = gemm_spec(8);
  std::vector<Kernel> kernels_;  // two of the spec, a stand-in between them
  std::promise<Kernel> background_;
  Request last_;
  const KernelRequest::State* failed_ = nullptr;
};

TEST_F(KernelTableTest, BeginsInNone) {
  KernelTable table;
  EXPECT_FALSE(table.has(spec_));
  EXPECT_EQ(table.request(kDevice, spec_), nullptr);
  EXPECT_TRUE(begin(&table));
  EXPECT_EQ(failed_, nullptr);
  EXPECT_TRUE(table.has(spec_));
  EXPECT_EQ(table.request(kDevice + 1, spec_), nullptr) << "of another device";
}

TEST_F(KernelTableTest, WorkIsBegunOnce) {
  KernelTable table;
  begin(&table);
  const Request making = last_;
  EXPECT_FALSE(begin(&table));
  EXPECT_EQ(last_, making);
  EXPECT_EQ(table.request(kDevice, spec_), making);
  EXPECT_FALSE(table.find(kDevice, spec_).kernel);
}

TEST_F(KernelTableTest, TheFirstFinalKernelStays) {
  KernelTable table;
  EXPECT_EQ(&table.finish(kDevice, kernels_[0]).plan(), &kernels_[0].plan());
  EXPECT_EQ(&table.finish(kDevice, kernels_[2]).plan(), &kernels_[0].plan());
  EXPECT_FALSE(begin(&table)) << "it is ready";
  EXPECT_EQ(&last_->result.get().plan(), &kernels_[0].plan());
}

TEST_F(KernelTableTest, AnotherCallMayFinishWhatIsBeingMade) {
  KernelTable table;
  begin(&table);
  const Kernel final = table.finish(kDevice, kernels_[0]);
  EXPECT_EQ(&table.find(kDevice, spec_).kernel->plan(), &final.plan());
  EXPECT_FALSE(table.request(kDevice, spec_)->has_ended()) << "the background finds it yet";
  background_.set_value(final);
  EXPECT_TRUE(table.request(kDevice, spec_)->has_ended());
  EXPECT_FALSE(table.request(kDevice, spec_)->has_failed());
}

TEST_F(KernelTableTest, WhatHasFailedIsBegunAgainWithItsCaptures) {
  KernelTable table;
  begin(&table);
  fail();
  const Request failed = table.request(kDevice, spec_);
  EXPECT_TRUE(failed->has_failed());
  EXPECT_TRUE(begin(&table));
  EXPECT_EQ(failed_, failed.get());
  EXPECT_NE(last_, failed);
  EXPECT_EQ(last_->captures, failed->captures);
}

TEST_F(KernelTableTest, WhatHasFailedIsReadyOnceACallHasMadeIt) {
  KernelTable table;
  begin(&table);
  fail();
  const Request failed = last_;
  const Kernel final = table.finish(kDevice, kernels_[0]);
  EXPECT_GE(final.max_workspace_bytes(), kernels_[1].max_workspace_bytes())
      << "captures may go on with the stand-in";
  EXPECT_FALSE(begin(&table));
  EXPECT_EQ(&last_->result.get().plan(), &final.plan());
  EXPECT_EQ(last_->captures, failed->captures);
  EXPECT_TRUE(failed->has_failed()) << "who waits for it is told why";
}

TEST_F(KernelTableTest, OthersMayStandInOnlyIfTheyAreFinal) {
  KernelTable table;
  begin(&table);
  EXPECT_FALSE(table.find_general(kDevice, gemm_spec(4)));
  table.finish(kDevice, kernels_[1]);
  EXPECT_EQ(&table.find_general(kDevice, gemm_spec(4))->plan(), &kernels_[1].plan());
}

}  // namespace
}  // namespace heddle
