// The fixture of the tests of DiskCache: a folder, a file system that can fail, and what was
// warned.
#ifndef HEDDLE_TESTS_CACHE_DISK_CACHE_FIXTURE_H_
#define HEDDLE_TESTS_CACHE_DISK_CACHE_FIXTURE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "cache/disk_cache.h"
#include "faulty_file_system.h"
#include "test_util.h"

namespace heddle::testing {

class DiskCacheFixture : public ::testing::Test {
 protected:
  DiskCacheOptions options() {
    DiskCacheOptions options;
    options.root = folder_ / "root";
    options.files = &files_;
    options.warn = [this](const std::string& why) { warnings_.push_back(why); };
    return options;
  }
  void age(const std::string& path, int seconds) {
    struct timespec times[2] = {};
    ::clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::string path(int number) { return entry_path(folder_ / "root", sample_key(number)); }

  TempFolder folder_;
  FaultyFileSystem files_;
  std::vector<std::string> warnings_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_DISK_CACHE_FIXTURE_H_
