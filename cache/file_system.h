// FileSystem: every call that the cache makes to the operating system's files.
//
// The seam exists so that tests can make any call fail, in any position. Calls mirror their POSIX
// namesakes and return -errno on failure; none of them retries or interprets anything.
// Thread-safe, as the system calls are.
#ifndef HEDDLE_CACHE_FILE_SYSTEM_H_
#define HEDDLE_CACHE_FILE_SYSTEM_H_

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct FileInfo {
  mode_t mode = 0;
  uid_t owner = 0;
  std::uint64_t links = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // since the epoch
};

// `folder` is a descriptor that relative paths start from, or AT_FDCWD.
class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  virtual int open(int folder, const std::string& path, int flags, mode_t mode) = 0;
  virtual int close(int fd) = 0;
  // Another descriptor of the same open file, whose lock both hold.
  virtual int duplicate(int fd) = 0;
  virtual ssize_t read(int fd, void* data, std::size_t bytes, std::uint64_t offset) = 0;
  virtual ssize_t write(int fd, const void* data, std::size_t bytes, std::uint64_t offset) = 0;
  virtual int sync(int fd) = 0;
  virtual int stat(int fd, FileInfo* info) = 0;
  virtual int stat_at(int folder, const std::string& path, FileInfo* info) = 0;  // of a link itself
  virtual int rename(int folder, const std::string& from, const std::string& to) = 0;
  virtual int unlink(int folder, const std::string& path) = 0;
  // Names the open file, which may have had no name.
  virtual int link(int fd, int folder, const std::string& path) = 0;
  virtual int make_folder(int folder, const std::string& path, mode_t mode) = 0;
  // Names in the folder, without "." and "..", in no order.
  virtual int list(int folder, std::vector<std::string>* names) = 0;
  virtual int lock(int fd) = 0;  // exclusive, -EWOULDBLOCK instead of waiting
  virtual int unlock(int fd) = 0;
  virtual int touch(int fd) = 0;  // modified now
  virtual uid_t user() = 0;       // effective
  virtual std::int64_t now_ns() = 0;
  virtual void sleep_ms(int ms) = 0;
};

// The operating system itself.
FileSystem& posix_file_system();

// Repeats an interrupted call, but not for ever.
template <typename Call>
auto retry_interrupted(const Call& call) {
  auto result = call();
  for (int tries = 0; result == -EINTR && tries < 100; ++tries) result = call();
  return result;
}

// Owns a descriptor. Movable; closing errors are for those who call close() themselves.
class Fd {
 public:
  Fd() = default;
  Fd(FileSystem* files, int fd) : files_(files), fd_(fd) {}
  Fd(Fd&& other) noexcept : files_(other.files_), fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int error() const { return fd_ < 0 ? -fd_ : 0; }  // errno of the open that failed
  int close();  // 0 or -errno; the descriptor is gone either way

 private:
  int release() {
    const int fd = fd_;
    fd_ = -EBADF;
    return fd;
  }

  FileSystem* files_ = nullptr;
  int fd_ = -EBADF;
};

// Opens with O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK (a FIFO must not stop us) and O_NOCTTY added.
Fd open_file(FileSystem& files, int folder, const std::string& path, int flags, mode_t mode = 0);
Fd open_folder(FileSystem& files, int folder, const std::string& path);

// A path that leads to what the descriptor of this process is open on.
std::string own_descriptor_path(int fd);

// "No space left on device" for ENOSPC.
std::string error_text(int error);

}  // namespace heddle

#endif  // HEDDLE_CACHE_FILE_SYSTEM_H_
