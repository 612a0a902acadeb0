// Failing system calls: the result is right all the same, and nothing is left behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache/cache.h"
#include "faulty_file_system.h"
#include "memory_file_system.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::FaultyFileSystem;
using testing::files_ending;
using testing::MemoryFileSystem;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

CacheOptions options_for(const std::string& dir, FileSystem* files) {
  CacheOptions options;
  options.dir = dir;
  options.files = files;
  return options;
}

// Made, found by a second cache, replaced, evicted, listed, swept, deleted: every kind of call.
void use(FileSystem* files) {
  const auto make_of = [](int number) { return [=] { return sample_binary(number); }; };
  CacheOptions options = options_for("/cache/root", files);
  options.max_bytes = 2500;
  options.lock_wait_ms = 50;
  for (int i = 0; i < 2; ++i) {
    Cache cache(options);
    for (const int number : {0, 1, 2, 3}) {
      expect_equal(*cache.get_or_make(sample_key(number), make_of(number)), sample_binary(number));
    }
    const auto any = cache.find_any_compiler(sample_key(3));
    if (any != nullptr) expect_equal(*any, sample_binary(3));
    const auto refused = cache.get_or_make(sample_key(3), make_of(3));
    expect_equal(*cache.remake(sample_key(3), refused, make_of(3)), sample_binary(3));
    EXPECT_LE(cache.disk()->list().size(), 4U);
    EXPECT_LE(cache.disk()->verify().good, 4U);
    cache.disk()->tidy();
    if (i == 0) cache.clear();
  }
}

// After the trouble is over, the same folder works as if nothing had been.
void expect_sound(MemoryFileSystem* files) {
  use(files);
  EXPECT_EQ(DiskCache({.root = "/cache/root", .warn = {}, .files = files}).verify().damaged, 0U);
  bool hit = false;
  Cache cache(options_for("/cache/root", files));
  cache.get_or_make(
      sample_key(3), [] { return sample_binary(3); }, &hit);
  EXPECT_TRUE(hit);
}

// The faults of one run: at which calls, and what.
struct Fault {
  int error = 0;  // 0: a short transfer
  int first = 0;
  int last = 0;
};

void expect_survived(const Fault& fault) {
  MemoryFileSystem memory;
  FaultyFileSystem files(memory);
  files.fault = [&](const std::string&, int number) {
    return number >= fault.first && number <= fault.last ? fault.error : 0;
  };
  if (fault.error == 0) files.short_at = fault.first;
  use(&files);
  EXPECT_EQ(memory.open_files(), 0);
  // Only where deleting it failed too may a temporary be left.
  if (fault.first == fault.last) {
    EXPECT_TRUE(memory.paths_ending(".tmp").empty());
  }
  expect_sound(&memory);
}

int calls_of_a_use() {
  MemoryFileSystem memory;
  FaultyFileSystem healthy(memory);
  use(&healthy);
  return static_cast<int>(healthy.calls.size());
}

// Every call of the sequence, including those that close and those that clean up after another.
TEST(Faults, AnyCallMayFailOnceOrFromThenOn) {
  const int calls = calls_of_a_use();
  int runs = 0;
  for (const int error : {EIO, ENOSPC, EDQUOT, EACCES, EROFS, EINTR, ESTALE, ENOENT, EMFILE, ENFILE,
                          ENOLCK, ENOMEM, 0}) {
    for (int at = 0; at < calls; ++at) {
      for (const int last : {at, calls * 1000}) {
        SCOPED_TRACE(fmt::format("call {} to {}: {}", at, last, error_text(error)));
        expect_survived({error, at, last});
        ++runs;
        ASSERT_FALSE(::testing::Test::HasFailure());
      }
    }
  }
  testing::tell_figure("failing calls", fmt::format("{} runs of {} calls, every result right, no "
                                                    "descriptor left open",
                                                    runs, calls));
}

TEST(Faults, AnyRunOfCallsMayFail) {
  const int calls = calls_of_a_use();
  const int step = testing::rounds(7, 1);
  for (int length = 2; length < calls; length = 2 * length + 1) {
    for (int at = 0; at < calls; at += step) {
      SCOPED_TRACE(fmt::format("{} calls from {}", length, at));
      expect_survived({EIO, at, at + length - 1});
    }
  }
}

int open_descriptors() {
  const auto folder = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(folder), end(folder)));
}

// The real calls, of which some open descriptors of their own.
TEST(Faults, RealDescriptorsAreClosed) {
  const TempFolder folder;
  const int before = open_descriptors();
  for (int at = -1; at < 60; ++at) {
    FaultyFileSystem files;
    files.fault = [&](const std::string&, int number) { return number == at ? EIO : 0; };
    CacheOptions options = options_for(folder.path(), &files);
    options.max_bytes = 1500;
    auto cache = std::make_unique<Cache>(options);
    for (const int number : {0, 1, 2}) {
      expect_equal(*cache->get_or_make(sample_key(number), [&] { return sample_binary(number); }),
                   sample_binary(number));
    }
    cache->disk()->list();
    cache->disk()->tidy();
    cache.reset();
    EXPECT_TRUE(files.open_files.empty()) << at;
  }
  EXPECT_EQ(open_descriptors(), before);
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
