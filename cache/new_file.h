// NewFile: a file that takes its place when it is complete, and leaves nothing behind before.
#ifndef HEDDLE_CACHE_NEW_FILE_H_
#define HEDDLE_CACHE_NEW_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cache/file_system.h"

namespace heddle {

// A path that unlink_new_files() removes while this lives; made without one, it names none.
class ListedFile {
 public:
  ListedFile() = default;
  explicit ListedFile(const std::string& path);
  ListedFile(ListedFile&& other) noexcept { *this = std::move(other); }
  ListedFile& operator=(ListedFile&& other) noexcept;
  ~ListedFile();

 private:
  std::atomic<char*>* place_ = nullptr;  // null: not listed
  char* path_ = nullptr;
};

// Until publish() the file has no name (O_TMPFILE), so that the kernel removes it however the
// process ends. Where the file system or the system has no such files, it has a temporary name
// beside the other, "<name>.<16 hex digits>.tmp", and a lock: the next one of that name removes
// those whose lock nobody holds, and unlink_new_files() those of this process.
class NewFile {
 public:
  // `path` is the caller's: links in it are followed, but for the last part, which is replaced.
  explicit NewFile(std::string path, FileSystem& files = posix_file_system());
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Once, before the others, which may not be called if it fails. As those, 0 or -errno; -ENODEV
  // where something else than a regular file is at `path`. The process's umask applies to `mode`.
  int open(mode_t mode);
  // May be called from any thread.
  int write(std::uint64_t offset, const void* from, std::size_t bytes) const;
  // On disk, then in place of what has the name.
  int publish();

 private:
  int open_unnamed(mode_t mode);
  int open_named(mode_t mode);
  int close_copy();
  int link_unnamed();
  void sweep();
  void forget_temporary();

  const std::string path_;
  std::string name_;  // in the folder
  FileSystem& files_;
  Fd folder_;
  Fd fd_;
  std::string temporary_;  // in the folder, empty where there is none
  ListedFile listed_;
};

// A whole file, as NewFile makes it: 0 or -errno.
int write_new_file(const std::string& path, mode_t mode, std::span<const char> content);

// Whether the disk is full or failing or the file is larger than it may be: no fault of its name.
bool is_storage_error(int error);
// "not a regular file" for ENODEV, else error_text().
std::string new_file_error_text(int error);

// Removes the temporary names of this process. For a handler of a signal that ends it: calls
// nothing but what a handler may call.
void unlink_new_files() noexcept;

}  // namespace heddle

#endif  // HEDDLE_CACHE_NEW_FILE_H_
