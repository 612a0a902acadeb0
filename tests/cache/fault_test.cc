// Failing system calls: the result is right all the same, and nothing is left behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache/cache.h"
#include "faulty_file_system.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::FaultyFileSystem;
using testing::files_ending;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

CacheOptions options_for(const std::string& dir, FaultyFileSystem* files) {
  CacheOptions options;
  options.dir = dir;
  options.files = files;
  return options;
}

// Made, found by a second cache, and evicted or swept: every kind of call there is.
void use(const std::string& dir, FaultyFileSystem* files) {
  const auto make = [] { return sample_binary(); };
  for (int i = 0; i < 2; ++i) {
    Cache cache(options_for(dir, files));
    expect_equal(*cache.get_or_make(sample_key(), make), sample_binary());
    cache.disk()->tidy();
  }
}

// After the trouble is over, the same folder works as if nothing had been.
void expect_sound(const std::string& dir) {
  FaultyFileSystem healthy;
  use(dir, &healthy);
  EXPECT_EQ(DiskCache({.root = dir, .warn = {}}).verify().damaged, 0U);
  bool hit = false;
  Cache cache(options_for(dir, &healthy));
  cache.get_or_make(
      sample_key(), [] { return sample_binary(); }, &hit);
  EXPECT_TRUE(hit);
}

TEST(Faults, AnyCallMayFailOnceOrFromThenOn) {
  int calls = 0;
  {
    const TempFolder folder;
    FaultyFileSystem healthy;
    use(folder.path(), &healthy);
    calls = static_cast<int>(healthy.calls.size());
  }
  for (const int error : {EIO, ENOSPC, EACCES, EINTR, ESTALE, ENOENT, EMFILE}) {
    for (int at = 0; at < calls; ++at) {
      for (const bool for_ever : {false, true}) {
        const TempFolder folder;
        FaultyFileSystem files;
        files.fault = [&](const std::string&, int number) {
          return number == at || (for_ever && number > at) ? error : 0;
        };
        SCOPED_TRACE(std::string(for_ever ? "from" : "at") + " call " + std::to_string(at) + ": " +
                     error_text(error));
        use(folder.path(), &files);
        EXPECT_TRUE(files.open_files.empty());
        if (!for_ever) {
          EXPECT_TRUE(files_ending(folder.path(), ".tmp").empty());
        }
        expect_sound(folder.path());
      }
    }
  }
}

TEST(Faults, FailedWritingLeavesNothing) {
  for (const std::string failing : {"write", "sync", "rename"}) {
    const TempFolder folder;
    FaultyFileSystem files;
    std::vector<std::string> warnings;
    files.fault = [&](const std::string& call, int) { return call == failing ? ENOSPC : 0; };
    CacheOptions options = options_for(folder.path(), &files);
    options.warn = [&](const std::string& why) { warnings.push_back(why); };
    Cache cache(options);
    for (const int i : {0, 1}) {
      expect_equal(*cache.get_or_make(sample_key(i), [&] { return sample_binary(i); }),
                   sample_binary(i));
    }
    for (const char* suffix : {".tmp", ".hdl", ".lock"}) {
      EXPECT_TRUE(files_ending(folder.path(), suffix).empty()) << failing << suffix;
    }
    ASSERT_EQ(warnings.size(), 1U) << failing;
    EXPECT_NE(warnings[0].find("No space left"), std::string::npos);
  }
}

TEST(Faults, FailingCloseIsAFailedWrite) {
  const TempFolder folder;
  FaultyFileSystem files;
  DiskCache disk({.root = folder.path(), .warn = {}, .files = &files});
  ASSERT_TRUE(disk.store(sample_key(1), sample_binary(1)));
  files.fault = [&](const std::string& call, int number) {
    return call == "close" && files.calls[static_cast<std::size_t>(number) - 1] == "sync" ? EDQUOT
                                                                                          : 0;
  };
  EXPECT_FALSE(disk.store(sample_key(), sample_binary()));
  EXPECT_FALSE(disk.find(sample_key()));
  EXPECT_TRUE(files_ending(folder.path(), ".tmp").empty());
}

TEST(Faults, ShortTransfersAreContinued) {
  const TempFolder folder;
  FaultyFileSystem files;
  files.short_transfers = true;
  DiskCache disk({.root = folder.path(), .warn = {}, .files = &files});
  ASSERT_TRUE(disk.store(sample_key(), sample_binary()));
  expect_equal(disk.find(sample_key()).value(), sample_binary());
}

TEST(Faults, SyncsBeforeRenameAndFolderAfter) {
  const TempFolder folder;
  FaultyFileSystem files;
  DiskCache disk({.root = folder.path(), .warn = {}, .files = &files});
  disk.store(sample_key(), sample_binary());
  const auto rename = std::ranges::find(files.calls, "rename");
  ASSERT_NE(rename, files.calls.end());
  EXPECT_EQ(*(rename - 2), "sync");
  EXPECT_EQ(*(rename - 1), "close");
  EXPECT_EQ(*(rename + 1), "sync");
}

TEST(Faults, WaitForABusyLockIsBounded) {
  const TempFolder folder;
  FaultyFileSystem files;
  DiskCache other({.root = folder.path(), .warn = {}});
  const KeyLock held = other.lock(sample_key());
  ASSERT_TRUE(held.held());
  CacheOptions options = options_for(folder.path(), &files);
  options.lock_wait_ms = 500;
  bool hit = true;
  Cache cache(options);
  expect_equal(*cache.get_or_make(
                   sample_key(), [] { return sample_binary(); }, &hit),
               sample_binary());
  EXPECT_FALSE(hit);
  EXPECT_GE(files.slept_ms, 500);
  EXPECT_LT(files.slept_ms, 600);
}

// The holder of the lock stores the entry while we wait: no need to wait for the lock itself.
TEST(Faults, WaiterTakesTheEntryAsSoonAsItIsThere) {
  const TempFolder folder;
  FaultyFileSystem files;
  DiskCache other({.root = folder.path(), .warn = {}});
  const KeyLock held = other.lock(sample_key());
  files.fault = [&](const std::string& call, int) {
    if (call == "lock" && files.slept_ms > 100) other.store(sample_key(), sample_binary());
    return 0;
  };
  bool hit = false;
  Cache cache(options_for(folder.path(), &files));
  cache.get_or_make(
      sample_key(), [] { return sample_binary(); }, &hit);
  EXPECT_TRUE(hit);
  EXPECT_LT(files.slept_ms, 200);
}

}  // namespace
}  // namespace heddle
