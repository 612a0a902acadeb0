#include "odd_places.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "test_util.h"

namespace heddle::testing {
namespace {

namespace fs = std::filesystem;

void must(bool done) { ASSERT_TRUE(done) << std::generic_category().message(errno); }
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
void make_file(const std::string& path) { write_bytes(path, as_bytes("x")); }
void make_folder(const std::string& path) { fs::create_directory(path); }
// The thing itself moves aside and a link to it takes its place.
void link_to(const std::string& path, const Place& place) {
  fs::rename(path, place.folder + "/real");
  fs::create_symlink(place.folder + "/real", path);
}

}  // namespace

void set_mode(const std::string& path, mode_t mode) { must(::chmod(path.c_str(), mode) == 0); }

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
  add("entry is empty", replaced, [](const Place& p) { write_bytes(p.entry, as_bytes("")); });
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

}  // namespace heddle::testing
