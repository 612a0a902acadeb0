#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include "cache/file_system.h"

namespace heddle {
namespace {

template <typename Result>
Result or_errno(Result result) {
  return result < 0 ? static_cast<Result>(-errno) : result;
}

void fill(const struct stat& from, FileInfo* info) {
  info->mode = from.st_mode;
  info->owner = from.st_uid;
  info->links = from.st_nlink;
  info->size = static_cast<std::uint64_t>(from.st_size);
  info->device = from.st_dev;
  info->inode = from.st_ino;
  info->modified_ns = std::int64_t{from.st_mtim.tv_sec} * 1'000'000'000 + from.st_mtim.tv_nsec;
}

class PosixFileSystem final : public FileSystem {
 public:
  int open(int folder, const std::string& path, int flags, mode_t mode) override {
    return or_errno(::openat(folder, path.c_str(), flags, mode));
  }
  int close(int fd) override { return or_errno(::close(fd)); }
  int duplicate(int fd) override { return or_errno(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }
  ssize_t read(int fd, void* data, std::size_t bytes, std::uint64_t offset) override {
    return or_errno(::pread(fd, data, bytes, static_cast<off_t>(offset)));
  }
  ssize_t write(int fd, const void* data, std::size_t bytes, std::uint64_t offset) override {
    return or_errno(::pwrite(fd, data, bytes, static_cast<off_t>(offset)));
  }
  int sync(int fd) override { return or_errno(::fsync(fd)); }
  int stat(int fd, FileInfo* info) override {
    struct stat found = {};
    const int result = or_errno(::fstat(fd, &found));
    if (result == 0) fill(found, info);
    return result;
  }
  int stat_at(int folder, const std::string& path, FileInfo* info) override {
    struct stat found = {};
    const int result = or_errno(::fstatat(folder, path.c_str(), &found, AT_SYMLINK_NOFOLLOW));
    if (result == 0) fill(found, info);
    return result;
  }
  int rename(int folder, const std::string& from, const std::string& to) override {
    return or_errno(::renameat(folder, from.c_str(), folder, to.c_str()));
  }
  int unlink(int folder, const std::string& path) override {
    return or_errno(::unlinkat(folder, path.c_str(), 0));
  }
  int link(int fd, int folder, const std::string& path) override {
    const std::string own = own_descriptor_path(fd);
    return or_errno(::linkat(AT_FDCWD, own.c_str(), folder, path.c_str(), AT_SYMLINK_FOLLOW));
  }
  int make_folder(int folder, const std::string& path, mode_t mode) override {
    return or_errno(::mkdirat(folder, path.c_str(), mode));
  }
  int list(int folder, std::vector<std::string>* names) override {
    // A descriptor of its own: the position of a listing belongs to the open file.
    const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
      const int error = errno;
      if (fd >= 0) ::close(fd);
      return -error;
    }
    errno = 0;
    while (const dirent* item = ::readdir(stream)) {
      const std::string_view name = item->d_name;
      if (name != "." && name != "..") names->emplace_back(name);
    }
    const int error = errno;
    ::closedir(stream);
    return -error;
  }
  int lock(int fd) override { return or_errno(::flock(fd, LOCK_EX | LOCK_NB)); }
  int unlock(int fd) override { return or_errno(::flock(fd, LOCK_UN)); }
  int touch(int fd) override { return or_errno(::futimens(fd, nullptr)); }
  uid_t user() override { return ::geteuid(); }
  std::int64_t now_ns() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
  void sleep_ms(int ms) override { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
};

}  // namespace

FileSystem& posix_file_system() {
  // Never destroyed: threads may still close files while the process exits.
  static auto* const files = new PosixFileSystem;
  return *files;
}

}  // namespace heddle
