#include "cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "disk_cache_fixture.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::FaultyFileSystem;
using testing::files_ending;
using testing::read_bytes;
using testing::sample_binary;
using testing::sample_key;
using testing::write_bytes;

class DiskCacheTest : public testing::DiskCacheFixture {};

TEST_F(DiskCacheTest, StoresAndFinds) {
  DiskCache cache(options());
  EXPECT_FALSE(cache.find(sample_key()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "root")) << "a look-up must not make folders";
  ASSERT_TRUE(cache.store(sample_key(), sample_binary()));
  const auto found = DiskCache(options()).find(sample_key());
  ASSERT_TRUE(found);
  expect_equal(*found, sample_binary());
  EXPECT_FALSE(cache.find(sample_key(1)));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DiskCacheTest, PrivateModes) {
  DiskCache(options()).store(sample_key(), sample_binary());
  struct stat info = {};
  ASSERT_EQ(::stat((folder_ / "root").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(path(0).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(DiskCacheTest, HitCostsSixCalls) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  files_.calls.clear();
  ASSERT_TRUE(cache.find(sample_key()));
  EXPECT_EQ(files_.calls,
            (std::vector<std::string>{"open", "open", "stat", "read", "close", "close"}));
}

// The buffer that is kept between hits: a smaller entry must not show the larger one's bytes.
TEST_F(DiskCacheTest, EntriesOfDifferentSizesInTurn) {
  DiskCache cache(options());
  const std::size_t sizes[] = {5000, 10, 0, 3'000'000, 700};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(cache.store(sample_key(i), sample_binary(i, sizes[i])));
  for (const int i : {0, 1, 2, 3, 4, 0, 9, 3, 2}) {
    const auto found = cache.find(sample_key(i));
    ASSERT_EQ(found.has_value(), i != 9) << i;
    if (found) expect_equal(*found, sample_binary(i, sizes[i]));
  }
}

TEST_F(DiskCacheTest, TouchesAtMostOnceAMinute) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  age(path(0), 120);
  files_.calls.clear();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache.find(sample_key()));
  EXPECT_EQ(std::ranges::count(files_.calls, "touch"), 1);
}

TEST_F(DiskCacheTest, DamagedEntryIsDeletedAndHealed) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  Bytes bytes = read_bytes(path(0));
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(path(0), bytes);
  EXPECT_FALSE(cache.find(sample_key()));
  EXPECT_FALSE(std::filesystem::exists(path(0)));
  EXPECT_TRUE(cache.store(sample_key(), sample_binary()));
  EXPECT_TRUE(cache.find(sample_key()));
}

TEST_F(DiskCacheTest, SwappedEntriesAreMissesAndHeal) {
  DiskCache cache(options());
  cache.store(sample_key(0), sample_binary(0));
  cache.store(sample_key(1), sample_binary(1));
  std::filesystem::rename(path(0), folder_ / "aside");
  std::filesystem::rename(path(1), path(0));
  std::filesystem::rename(folder_ / "aside", path(1));
  EXPECT_EQ(cache.verify().damaged, 2U);
  for (const int i : {0, 1}) {
    EXPECT_FALSE(cache.find(sample_key(i)));
    EXPECT_TRUE(cache.store(sample_key(i), sample_binary(i)));
    expect_equal(cache.find(sample_key(i)).value(), sample_binary(i));
  }
  EXPECT_EQ(cache.verify().good, 2U);
}

TEST_F(DiskCacheTest, OddFilesInPlaceOfAnEntryAreRefusedAndReplaced) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  const std::string good = folder_ / "good";
  std::filesystem::copy_file(path(0), good);
  const auto expect_healed = [&](const char* what) {
    EXPECT_FALSE(cache.find(sample_key())) << what;
    EXPECT_TRUE(cache.store(sample_key(), sample_binary())) << what;
    EXPECT_TRUE(cache.find(sample_key())) << what;
    std::filesystem::remove(path(0));
  };
  std::filesystem::remove(path(0));
  std::filesystem::create_symlink(good, path(0));
  expect_healed("symbolic link");
  std::filesystem::create_hard_link(good, path(0));
  expect_healed("hard link");
  ASSERT_EQ(::mkfifo(path(0).c_str(), 0600), 0);
  expect_healed("fifo");
  std::filesystem::copy_file(good, path(0));
  ASSERT_EQ(::chmod(path(0).c_str(), 0666), 0);
  expect_healed("writable by all");
  EXPECT_TRUE(std::filesystem::exists(good));
}

TEST_F(DiskCacheTest, AnEntryOfAnotherVersionIsToldAndReplaced) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  Bytes bytes = read_bytes(path(0));
  bytes.at(8) = 1;
  write_bytes(path(0), bytes);
  EXPECT_NE(cache.verify().problems.at(0).why.find("of format version 1"), std::string::npos);
  EXPECT_FALSE(cache.find(sample_key()));
  cache.store(sample_key(), sample_binary());
  EXPECT_TRUE(cache.find(sample_key()));
}

TEST_F(DiskCacheTest, FindsTheLatestCompiler) {
  DiskCache cache(options());
  for (const char* compiler : {"nvrtc 13.9 ff", "nvrtc 13.10 aa", "nvrtc 12.8 zz"}) {
    CacheKey key = sample_key();
    Binary binary = sample_binary();
    key.compiler = binary.compiler = compiler;
    ASSERT_TRUE(cache.store(key, binary));
  }
  CacheKey key = sample_key();
  key.compiler.clear();
  EXPECT_FALSE(cache.find(key));
  EXPECT_EQ(cache.find_any_compiler(key).value().compiler, "nvrtc 13.10 aa");
  EXPECT_FALSE(cache.find_any_compiler(sample_key(1)));
}

TEST_F(DiskCacheTest, CompilerOrder) {
  EXPECT_TRUE(later_compiler("13.10", "13.9"));
  EXPECT_FALSE(later_compiler("13.9", "13.10"));
  EXPECT_FALSE(later_compiler("13.9", "13.9"));
  EXPECT_TRUE(later_compiler("13.9 b", "13.9 a"));
  EXPECT_TRUE(later_compiler("13.9 a", "13.9"));
  EXPECT_NE(later_compiler("13.09", "13.9"), later_compiler("13.9", "13.09"));
}

TEST_F(DiskCacheTest, ListVerifyClear) {
  DiskCache cache(options());
  for (const int i : {2, 0, 1}) cache.store(sample_key(i), sample_binary(i));
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[1].kernel_name, "k1");
  EXPECT_EQ(entries[1].id, sample_key(1).id());
  EXPECT_EQ(entries[1].arch, "sm_90a");
  EXPECT_EQ(entries[1].cubin_bytes, 40U);
  EXPECT_EQ(entries[1].file_bytes, std::filesystem::file_size(path(1)));
  write_bytes(path(2), as_bytes("garbage"));
  const VerifyReport report = cache.verify();
  EXPECT_EQ(report.good, 2U);
  EXPECT_EQ(report.damaged, 1U);
  EXPECT_EQ(report.problems.at(0).why, "cut short");
  EXPECT_TRUE(std::filesystem::exists(path(2))) << "verify changes nothing";
  EXPECT_EQ(cache.clear(), 3U);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_TRUE(files_ending(folder_.path(), ".lock").empty());
}

TEST_F(DiskCacheTest, RootThatIsDeletedIsMadeAgain) {
  DiskCache cache(options());
  cache.store(sample_key(), sample_binary());
  std::filesystem::remove_all(folder_ / "root");
  EXPECT_FALSE(cache.find(sample_key()));
  EXPECT_TRUE(cache.lock(sample_key()).held());
  EXPECT_TRUE(cache.store(sample_key(), sample_binary()));
  EXPECT_TRUE(cache.find(sample_key()));
}

// A file server that has forgotten the shards, however often the root is opened anew.
class StaleShards : public FaultyFileSystem {
 public:
  bool stale = false;
  int open(int folder, const std::string& path, int flags, mode_t mode) override {
    if (stale && path.size() == 2 && path != "v1") return -ESTALE;
    return FaultyFileSystem::open(folder, path, flags, mode);
  }
};

TEST_F(DiskCacheTest, ShardsThatStayStaleAreAMiss) {
  StaleShards files;
  DiskCacheOptions stale = options();
  stale.files = &files;
  DiskCache cache(stale);
  ASSERT_TRUE(cache.store(sample_key(), sample_binary()));
  files.stale = true;
  EXPECT_FALSE(cache.find(sample_key()));
  EXPECT_FALSE(cache.lock(sample_key()).held());
  EXPECT_FALSE(cache.store(sample_key(), sample_binary()));
  files.stale = false;
  EXPECT_TRUE(cache.find(sample_key()));
}

// Somebody who replaces the lock file again and again.
class RestlessNames : public FaultyFileSystem {
 public:
  int stat_at(int folder, const std::string& path, FileInfo* info) override {
    const int result = FaultyFileSystem::stat_at(folder, path, info);
    ++info->inode;
    return result;
  }
};

TEST_F(DiskCacheTest, ALockFileThatIsAlwaysAnotherIsBusy) {
  RestlessNames files;
  DiskCacheOptions restless = options();
  restless.files = &files;
  restless.lock_wait_ms = 5;
  EXPECT_FALSE(DiskCache(restless).lock(sample_key()).held());
  EXPECT_TRUE(files.open_files.empty());
}

TEST_F(DiskCacheTest, VerifySeesDigestsThatAreNotOfTheKey) {
  DiskCache cache(options());
  SerialKey forged = serialize(sample_key(0));
  forged.source[0] = 'X';
  ASSERT_TRUE(cache.store(forged.digests, encode_entry(forged, sample_binary(0))));
  const VerifyReport report = cache.verify();
  ASSERT_EQ(report.damaged, 1U);
  EXPECT_EQ(report.problems[0].why, "its digests are not of its key");
}

TEST_F(DiskCacheTest, AFolderThatCannotBeOpenedCannotBeListed) {
  std::vector<std::string> names;
  EXPECT_EQ(posix_file_system().list(-1, &names), -EBADF);
}

TEST_F(DiskCacheTest, ReadOnlyRootIsNotChanged) {
  DiskCache(options()).store(sample_key(), sample_binary());
  DiskCacheOptions read_only = options();
  read_only.read_only = true;
  DiskCache cache(read_only);
  age(path(0), 7200);
  files_.calls.clear();
  EXPECT_TRUE(cache.find(sample_key()));
  EXPECT_FALSE(cache.store(sample_key(1), sample_binary(1)));
  EXPECT_FALSE(cache.lock(sample_key(1)).held());
  EXPECT_EQ(cache.clear(), 0U);
  write_bytes(path(0), as_bytes("garbage"));
  EXPECT_FALSE(cache.find(sample_key()));
  EXPECT_TRUE(std::filesystem::exists(path(0)));
  for (const char* call : {"touch", "write", "unlink", "lock", "make_folder", "rename"}) {
    EXPECT_EQ(std::ranges::count(files_.calls, call), 0) << call;
  }
}

}  // namespace
}  // namespace heddle
