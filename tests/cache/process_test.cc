// Several processes on one folder. Its own program, because it forks and so must have no threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cache/cache.h"
#include "test_util.h"

namespace heddle {
namespace {

using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

// Appends one byte: how often was this called, over all processes?
void count(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, "x", 1) != 1) std::abort();
  ::close(fd);
}

int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(Processes, OneColdKeyIsMadeOnce) {
  const TempFolder folder;
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(gate[1]);
      char byte = 0;
      if (::read(gate[0], &byte, 1) != 0) ::_exit(2);  // until the parent opens the gate
      CacheOptions options;
      options.dir = folder / "root";
      Cache cache(options);
      const auto made = cache.get_or_make(sample_key(), [&] {
        count(folder / "made");
        return sample_binary(0, 200'000);
      });
      ::_exit(made->cubin == sample_binary(0, 200'000).cubin ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(std::filesystem::file_size(folder / "made"), 1U);
  EXPECT_TRUE(testing::files_ending(folder.path(), ".lock").empty());
  EXPECT_TRUE(testing::files_ending(folder.path(), ".tmp").empty());
}

TEST(Processes, LockOfAKilledHolderIsFree) {
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder / "root";
  options.lock_wait_ms = 0;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    DiskCache cache(options);
    const KeyLock lock = cache.lock(sample_key());
    if (::write(ready[1], lock.held() ? "y" : "n", 1) != 1) ::_exit(2);
    for (;;) ::pause();
  }
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

// Readers against writers that replace the same entry: whole entries or nothing.
TEST(Processes, ReadersNeverSeeHalfAnEntry) {
  const TempFolder folder;
  DiskCacheOptions options;
  options.root = folder / "root";
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache(options);
      const Binary binary = sample_binary(i % 2, 50'000);
      for (int round = 0; round < 50; ++round) {
        if (i < 2) {
          if (!cache.store(sample_key(), binary)) ::_exit(1);
        } else if (const auto found = cache.find(sample_key())) {
          const bool whole = found->cubin == sample_binary(0, 50'000).cubin ||
                             found->cubin == sample_binary(1, 50'000).cubin;
          if (!whole) ::_exit(2);
        }
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
  const VerifyReport report = DiskCache(options).verify();
  EXPECT_EQ(report.good, 1U);
  EXPECT_EQ(report.damaged, 0U);
}

}  // namespace
}  // namespace heddle
