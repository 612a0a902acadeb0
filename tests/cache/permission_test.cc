// Folders and files that must not be trusted, or cannot be used: each refused, with the right bytes
// from memory or made anew, and one warning where the whole root is of no use.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "cache/cache.h"
#include "faulty_file_system.h"
#include "odd_places.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::Case;
using testing::entry_path;
using testing::file_cases;
using testing::kStranger;
using testing::Outcome;
using testing::Place;
using testing::root_cases;
using testing::sample_binary;
using testing::sample_key;
using testing::set_mode;
using testing::TempFolder;

class PermissionTest : public ::testing::Test {
 protected:
  Place fresh_place() {
    folders_.push_back(std::make_unique<TempFolder>());
    Place place;
    place.folder = folders_.back()->path();
    place.root = place.folder + "/root";
    place.entry = entry_path(place.root, sample_key());
    place.shard = fs::path(place.entry).parent_path();
    place.lock = place.entry.substr(0, place.entry.size() - 4) + ".lock";
    EXPECT_FALSE(get(place.root, &posix_file_system()));
    EXPECT_TRUE(fs::exists(place.entry));
    warnings_.clear();
    return place;
  }
  // In a new process: two calls for key 0; whether the first one found it on disk.
  bool get(const std::string& root, FileSystem* files) {
    CacheOptions options;
    options.dir = root;
    options.files = files;
    options.lock_wait_ms = 0;
    options.warn = [this](const std::string& why) { warnings_.push_back(why); };
    Cache cache(options);
    bool hit = false;
    for (const bool first : {true, false}) {
      bool this_hit = false;
      const auto got = cache.get_or_make(
          sample_key(), [] { return sample_binary(); }, &this_hit);
      EXPECT_EQ(got->cubin, sample_binary().cubin);
      if (first) hit = this_hit;
      if (!first) {
        EXPECT_TRUE(this_hit);
      }
    }
    return hit;
  }

  void expect_outcome(const Case& one) {
    const Place place = fresh_place();
    one.prepare(place);
    testing::FaultyFileSystem failing;
    failing.fault = [&](const std::string& call, int) {
      return call == "make_folder" || call == "write" ? one.failing : 0;
    };
    FileSystem* files = one.failing != 0 ? &failing : &posix_file_system();
    EXPECT_EQ(get(place.root, files), one.outcome == Outcome::kUsed);
    EXPECT_EQ(warnings_.size(), one.outcome == Outcome::kMemoryOnly ? 1U : 0U)
        << (warnings_.empty() ? "" : warnings_.front());
    for (const std::string& warning : warnings_) {
      EXPECT_NE(warning.find(place.root), std::string::npos) << warning;
    }
    EXPECT_EQ(get(place.root, files), one.outcome != Outcome::kMemoryOnly);
  }

  void expect_outcomes(const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      if (one.needs_root && ::geteuid() != 0) continue;
      SCOPED_TRACE(one.name);
      expect_outcome(one);
      ++shown_;
    }
    testing::tell_figure("permissions", fmt::format("{} cases", shown_));
  }

  std::vector<std::unique_ptr<TempFolder>> folders_;
  std::vector<std::string> warnings_;
  int shown_ = 0;
};

TEST_F(PermissionTest, Folders) { expect_outcomes(root_cases()); }
TEST_F(PermissionTest, Files) { expect_outcomes(file_cases()); }

// What Heddle makes is private whatever the umask allows; what it forbids is not needed.
TEST_F(PermissionTest, Umasks) {
  for (const mode_t mask : {0000, 0002, 0022, 0027, 0077}) {
    folders_.push_back(std::make_unique<TempFolder>());
    const std::string root = *folders_.back() / "a/b";
    const mode_t before = ::umask(mask);
    EXPECT_FALSE(get(root, &posix_file_system()));
    EXPECT_TRUE(get(root, &posix_file_system()));
    ::umask(before);
    for (const auto& item : fs::recursive_directory_iterator(folders_.back()->path())) {
      EXPECT_EQ(item.status().permissions() & fs::perms(077), fs::perms::none) << item.path();
    }
  }
  EXPECT_TRUE(warnings_.empty());
}

// A umask that takes the owner's own rights away: root passes it by, others work from memory.
TEST_F(PermissionTest, UmaskThatForbidsEverything) {
  folders_.push_back(std::make_unique<TempFolder>());
  const mode_t before = ::umask(0777);
  get(folders_.back()->path() + "/a", &posix_file_system());
  ::umask(before);
  EXPECT_LE(warnings_.size(), 1U);
}

TEST_F(PermissionTest, NamesThatCannotBe) {
  for (const std::string& root : {std::string(5000, 'x'), std::string(300, 'y'),
                                  std::string("/proc/heddle"), std::string("/dev/null/heddle")}) {
    warnings_.clear();
    EXPECT_FALSE(get(root.front() == '/' ? root : "/tmp/" + root, &posix_file_system()));
    EXPECT_EQ(warnings_.size(), 1U) << root;
  }
}

// A read-only layer may belong to root, have second names, and is never written to.
TEST_F(PermissionTest, ReadOnlyLayers) {
  const auto found_in = [&](const std::string& layer, uid_t user) {
    struct AsUser : testing::FaultyFileSystem {
      uid_t who = 0;
      uid_t user() override { return who; }
    } files;
    files.who = user;
    DiskCache disk({.root = layer, .read_only = true, .warn = {}, .files = &files});
    return disk.find(sample_key()).has_value();
  };
  Place place = fresh_place();
  EXPECT_TRUE(found_in(place.root, ::geteuid()));
  EXPECT_EQ(found_in(place.root, kStranger), ::geteuid() == 0) << "an image's layer is root's";
  fs::create_hard_link(place.entry, place.folder + "/second");
  EXPECT_TRUE(found_in(place.root, ::geteuid()));
  set_mode(place.entry, 0666);
  EXPECT_FALSE(found_in(place.root, ::geteuid()));
  set_mode(place.entry, 0444);
  set_mode(place.root, 0777);
  EXPECT_FALSE(found_in(place.root, ::geteuid()));
}

}  // namespace
}  // namespace heddle
