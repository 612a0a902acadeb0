// How long it takes to be given a kernel that was prepared.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/cache/torture.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

class HitTest : public testing::FakeDevice {};

// Nanoseconds that one call takes: the median of 100 rounds of 100.
template <typename Call>
double time_call(const Call& call) {
  std::vector<double> rounds;
  for (int i = 0; i < 100; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < 100; ++k) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    rounds.push_back(took.count() / 100);
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

TEST_F(HitTest, OfAPreparedKernelWritesNoText) {
  Runtime runtime(options_);
  const testing::EngineContext context;
  const Spec spec = testing::gemm_spec();
  runtime.prepare({spec, testing::dequantize_spec()});
  fake::state().quiet = true;
  const long allocations = testing::allocations();
  for (int i = 0; i < 100; ++i) runtime.kernel(spec);
  EXPECT_EQ(testing::allocations(), allocations);
  const double hit = time_call([&] { runtime.kernel(spec); });
  const double text = time_call([&] { (void)spec.canonical_json(); });
  fake::state().quiet = false;
  EXPECT_GT(testing::allocations(), allocations) << "the counter counts nothing";
  testing::tell_figure("hit of a prepared kernel",
                       fmt::format("median {:.2f} us; the spec's text alone takes {:.2f} us",
                                   hit / 1000, text / 1000));
  if (testing::torture()) {
    EXPECT_LT(hit, 1000);
  }
}

// Under ThreadSanitizer this shows that the table may grow while it is read.
TEST_F(HitTest, WhileOthersArePrepared) {
  Runtime runtime(options_);
  const testing::EngineContext context;
  const Spec spec = testing::dequantize_spec();
  const void* const code = &runtime.prepare({spec})[0].plan();
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const testing::EngineContext own;
      while (!stop) wrong += &runtime.kernel(spec).plan() != code;
    });
  }
  for (int n = 128; n <= 512; n += 64) runtime.prepare({testing::dequantize_spec(n)});
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace heddle
