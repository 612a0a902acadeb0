#include "runtime/compile/build_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle {
namespace {

TEST(BuildPoolTest, RunsEveryJobOnce) {
  std::vector<std::atomic<int>> runs(100);
  run_jobs(runs.size(), 4, [&](std::size_t index) { ++runs[index]; });
  for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
  run_jobs(0, 4, [](std::size_t) { FAIL(); });
}

TEST(BuildPoolTest, RunsAsManyAtATimeAsAskedForAndNoMore) {
  std::mutex mutex;
  std::condition_variable all_here;
  int here = 0;
  // Every job waits for two others: this ends only if three run at the same time.
  run_jobs(3, 3, [&](std::size_t) {
    std::unique_lock<std::mutex> lock(mutex);
    ++here;
    all_here.notify_all();
    all_here.wait(lock, [&] { return here == 3; });
  });
  std::atomic<int> running{0};
  std::atomic<bool> too_many{false};
  run_jobs(50, 1, [&](std::size_t) {
    if (++running > 1) too_many = true;
    --running;
  });
  EXPECT_FALSE(too_many);
}

TEST(BuildPoolTest, ThrowsTheFirstFailureAfterAllHaveEnded) {
  std::atomic<int> ended{0};
  try {
    run_jobs(20, 4, [&](std::size_t index) {
      ++ended;
      if (index == 3 || index == 17) throw std::runtime_error(std::to_string(index));
    });
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(ended.load(), 20);
}

TEST(BuildPoolTest, SizeIsBoundedUnlessAskedFor) {
  EXPECT_EQ(pool_size(13), 13);
  EXPECT_GE(pool_size(0), 1);
  EXPECT_LE(pool_size(0), 8);
}

}  // namespace
}  // namespace heddle
