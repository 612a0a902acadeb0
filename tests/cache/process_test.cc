// Several processes on one folder. Its own program, because it forks and so must have no threads.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cache/cache.h"
#include "processes.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::exit_code;
using testing::Gate;
using testing::sample_binary;
using testing::sample_key;
using testing::start_process;
using testing::TempFolder;

TEST(Processes, OneColdKeyIsMadeOnce) {
  constexpr int kProcesses = 64;
  for (int round = 0; round < testing::rounds(1, 20); ++round) {
    const TempFolder folder;
    Gate gate;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(start_process([&] {
        gate.wait();
        CacheOptions options;
        options.dir = folder / "root";
        Cache cache(options);
        const auto made = cache.get_or_make(sample_key(), [&] {
          testing::count(folder / "made");
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // let the others come
          return sample_binary(0, 200'000);
        });
        return made->cubin == sample_binary(0, 200'000).cubin ? 0 : 1;
      }));
    }
    gate.open();
    int right = 0;
    for (const pid_t child : children) right += exit_code(child) == 0 ? 1 : 0;
    EXPECT_EQ(right, kProcesses);
    EXPECT_EQ(std::filesystem::file_size(folder / "made"), 1U);
    EXPECT_TRUE(testing::files_ending(folder.path(), ".lock").empty());
    EXPECT_TRUE(testing::files_ending(folder.path(), ".tmp").empty());
  }
  testing::tell_figure("cold start", fmt::format("{} processes, one key: 1 compilation, {} right "
                                                 "results, {} times",
                                                 kProcesses, kProcesses, testing::rounds(1, 20)));
}

TEST(Processes, LockOfAKilledHolderIsFree) {
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder / "root";
  options.lock_wait_ms = 0;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = start_process([&] {
    DiskCache cache(options);
    const KeyLock lock = cache.lock(sample_key());
    if (::write(ready[1], lock.held() ? "y" : "n", 1) != 1) return 2;
    for (;;) ::pause();
  });
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  DiskCache cache(options);
  EXPECT_FALSE(cache.lock(sample_key()).held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(testing::files_ending(folder.path(), ".lock").size(), 1U);
  EXPECT_TRUE(cache.lock(sample_key()).held());
  EXPECT_TRUE(testing::files_ending(folder.path(), ".lock").empty());
  ::close(ready[0]);
  ::close(ready[1]);
}

constexpr std::size_t kLarge = 50'000;

// Stores one of two binaries under the same key, until it is killed.
int write_for_ever(const DiskCacheOptions& options, int number) {
  DiskCache cache(options);
  const Binary binary = sample_binary(number, kLarge);
  while (cache.store(sample_key(), binary)) {
  }
  return 1;
}

// So many whole entries, each of the one or the other binary.
int read_and_verify(const DiskCacheOptions& options, int reads) {
  DiskCache cache(options);
  const Binary first = sample_binary(0, kLarge);
  const Binary second = sample_binary(1, kLarge);
  for (int verified = 0; verified < reads;) {
    const auto found = cache.find(sample_key());
    if (!found) continue;
    const Binary& like = found->kernel_name == first.kernel_name ? first : second;
    if (found->cubin != like.cubin || found->kernel_name != like.kernel_name) return 2;
    ++verified;
  }
  return 0;
}

// Readers against writers that replace the same entry: whole entries or nothing.
TEST(Processes, ReadersNeverSeeHalfAnEntry) {
  constexpr int kEach = 8;
  const int reads = testing::rounds(2'000, 1'000'000);
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder / "root";
  std::vector<pid_t> readers;
  std::vector<pid_t> writers;
  for (int i = 0; i < kEach; ++i) {
    writers.push_back(start_process([&] { return write_for_ever(options, i % 2); }));
    readers.push_back(start_process([&] { return read_and_verify(options, reads / kEach); }));
  }
  for (const pid_t child : readers) EXPECT_EQ(exit_code(child), 0);
  for (const pid_t child : writers) {
    ::kill(child, SIGKILL);
    EXPECT_EQ(exit_code(child), -1) << "a store has failed";
  }
  const VerifyReport report = DiskCache(options).verify();
  EXPECT_EQ(report.good, 1U);
  EXPECT_EQ(report.damaged, 0U);
  testing::tell_figure("8 writers and 8 readers",
                       fmt::format("{} verified reads, 0 bad", reads / kEach * kEach));
}

}  // namespace
}  // namespace heddle
