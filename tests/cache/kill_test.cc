// SIGKILL between any two calls and at any time: nothing torn, nothing locked, nothing left behind.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "cache/cache.h"
#include "faulty_file_system.h"
#include "processes.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::FaultyFileSystem;
using testing::rounds;
using testing::sample_binary;
using testing::sample_key;
using testing::start_process;
using testing::TempFolder;

constexpr int kKeys = 6;
constexpr std::int64_t kCap = 3'000;  // less than all entries: some are evicted

CacheOptions options_for(const std::string& root, FileSystem* files) {
  CacheOptions options;
  options.dir = root;
  options.files = files;
  options.max_bytes = kCap;
  return options;
}

Binary binary_of(int number) { return sample_binary(number, 200); }

// Everything that a process does with a cache, for ever.
int work(const std::string& root, FaultyFileSystem* files, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    Cache cache(options_for(root, files));
    for (int i = 0; i < 6; ++i) {
      const int number = static_cast<int>(random() % kKeys);
      const auto got = cache.get_or_make(sample_key(number), [&] { return binary_of(number); });
      if (got->cubin != binary_of(number).cubin) return 3;
    }
    if (random() % 4 == 0) cache.disk()->tidy();
    if (random() % 8 == 0) cache.clear();
  }
}

class KillTest : public ::testing::Test {
 protected:
  std::string root() const { return folder_ / "root"; }

  // The child kills itself before its call number `at`. Writes go byte by byte where `slowly`.
  pid_t start_and_die_at(int at, bool slowly, std::uint64_t seed) {
    return start_process([&] {
      FaultyFileSystem files;
      files.short_transfers = slowly;
      int number = 0;
      files.fault = [&](const std::string&, int) {
        if (at >= 0 && number++ == at) ::kill(::getpid(), SIGKILL);
        files.calls.clear();  // of a child that works for long
        return 0;
      };
      return work(root(), &files, seed);
    });
  }

  void expect_nothing_broken() {
    DiskCache disk({.root = root(), .max_bytes = kCap, .lock_wait_ms = 0, .warn = {}});
    EXPECT_EQ(disk.verify().damaged, 0U);
    for (int number = 0; number < kKeys; ++number) {
      const auto start = std::chrono::steady_clock::now();
      std::chrono::duration<double, std::milli> took{0};
      while (!disk.lock(sample_key(number)).held() && took.count() < 1000) {
        took = std::chrono::steady_clock::now() - start;
      }
      took = std::chrono::steady_clock::now() - start;
      slowest_lock_ms_ = std::max(slowest_lock_ms_, took.count());
      const auto found = disk.find(sample_key(number));
      EXPECT_TRUE(!found || found->cubin == binary_of(number).cubin);
    }
  }

  // As if an hour had passed.
  void expect_swept() {
    FaultyFileSystem later;
    later.clock_skew_ns = std::int64_t{3700} * 1'000'000'000;
    DiskCache({.root = root(), .max_bytes = kCap, .warn = {}, .files = &later}).tidy();
    EXPECT_TRUE(testing::files_ending(root(), ".tmp").empty());
    EXPECT_TRUE(testing::files_ending(root(), ".lock").empty());
    EXPECT_LE(testing::entry_bytes(root()), static_cast<std::uint64_t>(kCap));
  }

  TempFolder folder_;
  double slowest_lock_ms_ = 0;
};

TEST_F(KillTest, BetweenAnyTwoCalls) {
  const int kills = rounds(200, 2'000);
  std::mt19937_64 random(1);
  std::size_t temporaries = 0;
  for (int i = 0; i < kills; ++i) {
    const int at = static_cast<int>(random() % 300);
    const pid_t child = start_and_die_at(at, i % 4 == 0, random());
    EXPECT_EQ(testing::exit_code(child), -1);
    expect_nothing_broken();
    if (i % 50 == 49) {
      temporaries += testing::files_ending(root(), ".tmp").size();
      expect_swept();
    }
    ASSERT_FALSE(HasFailure()) << "kill " << i << " at call " << at;
  }
  EXPECT_GT(temporaries, 0U) << "no kill hit a process that was writing";
  EXPECT_LT(slowest_lock_ms_, 100);
  testing::tell_figure("SIGKILL between calls",
                       fmt::format("{} kills, 0 torn entries, {} temporaries swept, locks free "
                                   "after {:.1f} ms at most",
                                   kills, temporaries, slowest_lock_ms_));
}

// Four at work together, killed by the clock.
TEST_F(KillTest, AtAnyTime) {
  const int kills = rounds(60, 2'000);
  std::mt19937_64 random(2);
  for (int i = 0; i < kills; i += 4) {
    std::vector<pid_t> children;
    for (int c = 0; c < 4; ++c) children.push_back(start_and_die_at(-1, false, random()));
    for (const pid_t child : children) {
      ::usleep(static_cast<useconds_t>(random() % 4'000));
      ::kill(child, SIGKILL);
      EXPECT_EQ(testing::exit_code(child), -1);
    }
    expect_nothing_broken();
    ASSERT_FALSE(HasFailure()) << "kill " << i;
  }
  expect_swept();
  EXPECT_LT(slowest_lock_ms_, 100);
  testing::tell_figure("SIGKILL by the clock",
                       fmt::format("{} kills of 4 processes at work, 0 torn entries, locks free "
                                   "after {:.1f} ms at most",
                                   kills, slowest_lock_ms_));
}

}  // namespace
}  // namespace heddle
