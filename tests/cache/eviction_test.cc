#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache/disk_cache.h"
#include "cache/usage.h"
#include "faulty_file_system.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::entry_bytes;
using testing::entry_path;
using testing::FaultyFileSystem;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

constexpr std::int64_t kCap = 20'000;

class EvictionTest : public ::testing::Test {
 protected:
  DiskCacheOptions options() {
    DiskCacheOptions options;
    options.root = folder_.path();
    options.max_bytes = kCap;
    options.files = &files_;
    return options;
  }
  bool store(DiskCache* cache, int number) {
    return cache->store(sample_key(number), sample_binary(number, 1000));
  }
  void set_age(const std::string& path, int seconds) {
    struct timespec times[2] = {};
    ::clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= seconds;
    times[0] = times[1];
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::string touch_file(const std::string& suffix) {
    const std::string entry = entry_path(folder_.path(), sample_key());
    const std::string path = entry.substr(0, entry.size() - 4) + suffix;
    testing::write_bytes(path, as_bytes("x"));
    return path;
  }

  // Two writers that store in turn keep to the cap together.
  void expect_cap_for_two_writers() {
    DiskCache a(options());
    DiskCache b(options());
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(store(i % 2 == 0 ? &a : &b, i));
      EXPECT_LE(entry_bytes(folder_.path()), static_cast<std::uint64_t>(kCap)) << i;
      EXPECT_TRUE(a.find(sample_key(i))) << i;
    }
    EXPECT_GT(entry_bytes(folder_.path()), static_cast<std::uint64_t>(kCap) / 2);
  }

  TempFolder folder_;
  FaultyFileSystem files_;
};

TEST_F(EvictionTest, CapHoldsForSeveralWriters) { expect_cap_for_two_writers(); }

TEST_F(EvictionTest, LeastRecentlyUsedGoesFirst) {
  DiskCache cache(options());
  for (int i = 0; i < 8; ++i) {
    store(&cache, i);
    set_age(entry_path(folder_.path(), sample_key(i)), 10'000 - i);
  }
  ASSERT_TRUE(cache.find(sample_key(0)));  // now the latest
  for (int i = 8; i < 17; ++i) store(&cache, i);
  EXPECT_TRUE(cache.find(sample_key(0)));
  EXPECT_FALSE(cache.find(sample_key(1)));
  EXPECT_TRUE(cache.find(sample_key(16)));
}

TEST_F(EvictionTest, EntryAboveTheCapIsNotStored) {
  DiskCache cache(options());
  EXPECT_FALSE(cache.store(sample_key(), sample_binary(0, kCap)));
  EXPECT_EQ(entry_bytes(folder_.path()), 0U);
}

TEST_F(EvictionTest, DamagedUsageIsCountedAnew) {
  DiskCache cache(options());
  for (int i = 0; i < 10; ++i) store(&cache, i);
  testing::write_bytes(folder_ / "v1/usage", as_bytes("this is no usage record, but long enough"));
  for (int i = 10; i < 30; ++i) {
    store(&cache, i);
    EXPECT_LE(entry_bytes(folder_.path()), static_cast<std::uint64_t>(kCap));
  }
}

TEST_F(EvictionTest, FolderIsListedSeldom) {
  DiskCacheOptions uncapped = options();
  uncapped.max_bytes = 0;
  DiskCache cache(uncapped);
  store(&cache, 0);
  files_.calls.clear();
  for (int i = 1; i < 20; ++i) store(&cache, i);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(cache.find(sample_key(i)));
  EXPECT_EQ(std::count(files_.calls.begin(), files_.calls.end(), "list"), 0);
}

TEST_F(EvictionTest, UnlistableFolderIsCountedAgain) {
  DiskCache cache(options());
  for (int i = 0; i < 10; ++i) store(&cache, i);
  files_.fault = [](const std::string& call, int) { return call == "list" ? EMFILE : 0; };
  cache.tidy();  // sees nothing
  files_.fault = nullptr;
  for (int i = 10; i < 30; ++i) {
    store(&cache, i);
    EXPECT_LE(entry_bytes(folder_.path()), static_cast<std::uint64_t>(kCap)) << i;
  }
}

TEST_F(EvictionTest, OldStraysAreSwept) {
  DiskCache cache(options());
  store(&cache, 0);
  const std::string old_temporary = touch_file(".0123456789abcdef.tmp");
  const std::string old_lock = touch_file(".lock");
  const std::string new_temporary = touch_file(".fedcba9876543210.tmp");
  const std::string other = touch_file(".note");
  for (const auto& path : {old_temporary, old_lock, other}) set_age(path, 3700);
  cache.tidy();
  EXPECT_FALSE(std::filesystem::exists(old_temporary));
  EXPECT_FALSE(std::filesystem::exists(old_lock));
  EXPECT_TRUE(std::filesystem::exists(new_temporary));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(cache.find(sample_key(0)));
}

TEST_F(EvictionTest, HeldLockIsNotSwept) {
  DiskCache cache(options());
  const KeyLock lock = cache.lock(sample_key());
  ASSERT_TRUE(lock.held());
  files_.clock_skew_ns = std::int64_t{7200} * 1'000'000'000;
  cache.tidy();
  cache.clear();
  EXPECT_EQ(testing::files_ending(folder_.path(), ".lock").size(), 1U);
}

// As a network file system that is mounted without locks.
class WithoutLocks : public EvictionTest {
 protected:
  WithoutLocks() {
    files_.fault = [](const std::string& call, int) { return call == "lock" ? ENOLCK : 0; };
  }
};

TEST_F(WithoutLocks, CapHoldsForWritersInTurn) { expect_cap_for_two_writers(); }

// What writers at the same time do to the count: all but one of their additions are lost.
TEST_F(WithoutLocks, ALostCountIsMadeGoodByTheNext) {
  DiskCache cache(options());
  store(&cache, 0);
  const Bytes usage = testing::read_bytes(folder_ / "v1/usage");
  std::uint64_t most = 0;
  for (int i = 1; i < 30; ++i) {
    testing::write_bytes(folder_ / "v1/usage", usage);
    store(&cache, i);
    most = std::max(most, entry_bytes(folder_.path()));
  }
  EXPECT_GT(most, static_cast<std::uint64_t>(kCap)) << "the test loses counts";
  for (int i = 0; i < static_cast<int>(kTidyEvery); ++i) store(&cache, i % 4);
  EXPECT_LE(entry_bytes(folder_.path()), static_cast<std::uint64_t>(kCap));
}

TEST_F(WithoutLocks, NothingLocksAndNoLockFileStays) {
  DiskCache cache(options());
  store(&cache, 0);
  EXPECT_FALSE(cache.lock(sample_key()).held());
  EXPECT_EQ(testing::files_ending(folder_.path(), ".lock").size(), 1U) << "it cannot know whose";
  files_.clock_skew_ns = std::int64_t{7200} * 1'000'000'000;
  cache.tidy();
  EXPECT_TRUE(testing::files_ending(folder_.path(), ".lock").empty());
  EXPECT_TRUE(cache.find(sample_key(0)));
}

}  // namespace
}  // namespace heddle
