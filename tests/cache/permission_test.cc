// Folders and files that must not be trusted, or cannot be used: each refused, with the right bytes
// from memory or made anew, and one warning where the whole root is of no use.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "cache/cache.h"
#include "faulty_file_system.h"
#include "test_util.h"
#include "torture.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::entry_path;
using testing::sample_binary;
using testing::sample_key;
using testing::TempFolder;

constexpr uid_t kStranger = 54321;

// What the cache must make of a place.
enum class Outcome {
  kMemoryOnly,  // right bytes, nothing found later, one warning
  kReplaced,    // not found, but stored anew
  kUsed,        // works, without a warning
};

struct Place {
  std::string folder;  // everything of the case lies in here
  std::string root;
  std::string entry;  // of key 0; exists and is sound when the case begins
  std::string shard;
  std::string lock;
};

struct Case {
  const char* name;
  Outcome outcome;
  std::function<void(const Place&)> prepare;
  bool needs_root = false;
  int failing = 0;  // make_folder and open for writing fail with this errno
};

void must(bool done) { ASSERT_TRUE(done) << std::generic_category().message(errno); }
void set_mode(const std::string& path, mode_t mode) { must(::chmod(path.c_str(), mode) == 0); }
void give_away(const std::string& path) { must(::lchown(path.c_str(), kStranger, kStranger) == 0); }
void make_fifo(const std::string& path) { must(::mkfifo(path.c_str(), 0600) == 0); }
void make_device(const std::string& path) {
  must(::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0);  // as /dev/zero
}
void make_socket(const std::string& path) {
  // A socket's name must be short; bind in the folder itself.
  const std::string before = fs::current_path();
  fs::current_path(fs::path(path).parent_path());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "s");
  must(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(fd);
  fs::rename("s", path);
  fs::current_path(before);
}
// Instead of what is there.
void replace(const std::string& path, const std::function<void(const std::string&)>& make) {
  fs::remove_all(path);
  make(path);
}
void make_file(const std::string& path) { testing::write_bytes(path, as_bytes("x")); }
void make_folder(const std::string& path) { fs::create_directory(path); }
// The thing itself moves aside and a link to it takes its place.
void link_to(const std::string& path, const Place& place) {
  fs::rename(path, place.folder + "/real");
  fs::create_symlink(place.folder + "/real", path);
}

std::vector<Case> root_cases() {
  std::vector<Case> cases;
  for (const mode_t mode : {0777, 0770, 0707, 0720, 0702, 01777, 02770}) {
    cases.push_back({"root that others may write to", Outcome::kMemoryOnly,
                     [=](const Place& p) { set_mode(p.root, mode); }});
  }
  for (const mode_t mode : {0700, 0755, 0711, 0750, 02700, 01700}) {
    cases.push_back({"root that others may at most read", Outcome::kUsed,
                     [=](const Place& p) { set_mode(p.root, mode); }});
  }
  const auto add = [&](const char* name, auto prepare, bool needs_root = false) {
    cases.push_back({name, Outcome::kMemoryOnly, prepare, needs_root});
  };
  add(
      "root of a stranger", [](const Place& p) { give_away(p.root); }, true);
  add("root is a link", [](const Place& p) { link_to(p.root, p); });
  add("root is a dangling link",
      [](const Place& p) { replace(p.root, [](auto& at) { fs::create_symlink("gone", at); }); });
  add("root is a link to itself",
      [](const Place& p) { replace(p.root, [](auto& at) { fs::create_symlink(at, at); }); });
  add("root is a file", [](const Place& p) { replace(p.root, make_file); });
  add("root is a fifo", [](const Place& p) { replace(p.root, make_fifo); });
  add("root is a socket", [](const Place& p) { replace(p.root, make_socket); });
  add(
      "root is a device", [](const Place& p) { replace(p.root, make_device); }, true);
  add("v1 that others may write to", [](const Place& p) { set_mode(p.root + "/v1", 0777); });
  add(
      "v1 of a stranger", [](const Place& p) { give_away(p.root + "/v1"); }, true);
  add("v1 is a link", [](const Place& p) { link_to(p.root + "/v1", p); });
  add("v1 is a file", [](const Place& p) { replace(p.root + "/v1", make_file); });
  add("v1 is a fifo", [](const Place& p) { replace(p.root + "/v1", make_fifo); });
  add("shard is a link", [](const Place& p) { link_to(p.shard, p); });
  add("shard is a file", [](const Place& p) { replace(p.shard, make_file); });
  add("shard is a fifo", [](const Place& p) { replace(p.shard, make_fifo); });
  for (const int error : {EROFS, EACCES, EPERM, ENOSPC, EDQUOT}) {
    cases.push_back({"nothing can be written", Outcome::kMemoryOnly,
                     [](const Place& p) { fs::remove_all(p.root); }, false, error});
  }
  return cases;
}

std::vector<Case> file_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, Outcome outcome, auto prepare, bool needs_root = false) {
    cases.push_back({name, outcome, prepare, needs_root});
  };
  const Outcome replaced = Outcome::kReplaced;
  for (const mode_t mode : {0666, 0620, 0602, 04622}) {
    add("entry that others may write to", replaced,
        [=](const Place& p) { set_mode(p.entry, mode); });
  }
  for (const mode_t mode : {0400, 0444, 0644, 0700}) {
    add("entry that others may at most read", Outcome::kUsed,
        [=](const Place& p) { set_mode(p.entry, mode); });
  }
  add(
      "entry of a stranger", replaced, [](const Place& p) { give_away(p.entry); }, true);
  add("entry is a link to a sound one", replaced, [](const Place& p) { link_to(p.entry, p); });
  add("entry is a dangling link", replaced,
      [](const Place& p) { replace(p.entry, [](auto& at) { fs::create_symlink("gone", at); }); });
  add("entry has a second name", replaced,
      [](const Place& p) { fs::create_hard_link(p.entry, p.folder + "/second"); });
  add("entry is a fifo", replaced, [](const Place& p) { replace(p.entry, make_fifo); });
  add("entry is a socket", replaced, [](const Place& p) { replace(p.entry, make_socket); });
  add(
      "entry is a device", replaced, [](const Place& p) { replace(p.entry, make_device); }, true);
  add("entry is empty", replaced,
      [](const Place& p) { testing::write_bytes(p.entry, as_bytes("")); });
  add("entry is a folder", Outcome::kMemoryOnly,
      [](const Place& p) { replace(p.entry, make_folder); });
  // Without a lock a process makes the entry all the same.
  const auto lock_as = [&](const char* name, const std::function<void(const std::string&)>& make) {
    add(name, replaced, [=](const Place& p) {
      fs::remove(p.entry);
      make(p.lock);
    });
  };
  lock_as("lock is a link", [](auto& at) { fs::create_symlink("/etc/passwd", at); });
  lock_as("lock is a fifo", make_fifo);
  lock_as("lock is a folder", make_folder);
  lock_as("lock is a socket", make_socket);
  for (const auto& make : {std::function<void(const std::string&)>(make_fifo),
                           std::function<void(const std::string&)>(make_folder),
                           std::function<void(const std::string&)>(make_socket),
                           std::function<void(const std::string&)>(make_file)}) {
    add("usage is something else", replaced, [=](const Place& p) {
      fs::remove(p.entry);
      replace(p.root + "/v1/usage", make);
    });
  }
  return cases;
}

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
