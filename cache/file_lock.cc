#include "cache/file_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace heddle {
namespace {

constexpr int kMaxRaces = 16;
constexpr int kLongestNapMs = 16;  // also how late a lock of a dead holder is noticed

// Whether the locked file is still the one that its path names.
bool still_named(FileSystem& files, int fd, int folder, const std::string& path) {
  FileInfo locked;
  FileInfo named;
  return files.stat(fd, &locked) == 0 && files.stat_at(folder, path, &named) == 0 &&
         locked.device == named.device && locked.inode == named.inode;
}

}  // namespace

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    release();
    files_ = other.files_;
    folder_ = other.folder_;
    path_ = std::move(other.path_);
    at_release_ = other.at_release_;
    status_ = other.status_;
    error_ = other.error_;
    fd_ = std::move(other.fd_);
  }
  return *this;
}

FileLock FileLock::attempt(FileSystem& files, int folder, const std::string& path,
                           AtRelease at_release) {
  FileLock lock;
  for (int race = 0; race < kMaxRaces; ++race) {
    Fd fd = open_file(files, folder, path, O_RDWR | O_CREAT, 0600);
    if (!fd) {
      lock.error_ = fd.error();
      return lock;
    }
    const int result = retry_interrupted([&] { return files.lock(fd.get()); });
    if (result < 0) {
      lock.status_ = result == -EWOULDBLOCK ? LockStatus::kBusy : LockStatus::kUnavailable;
      lock.error_ = -result;
      return lock;
    }
    if (!still_named(files, fd.get(), folder, path)) {
      files.unlock(fd.get());
      continue;
    }
    lock.files_ = &files;
    lock.folder_ = folder;
    lock.path_ = path;
    lock.at_release_ = at_release;
    lock.status_ = LockStatus::kHeld;
    lock.fd_ = std::move(fd);
    return lock;
  }
  lock.status_ = LockStatus::kBusy;
  return lock;
}

FileLock FileLock::wait(FileSystem& files, int folder, const std::string& path,
                        AtRelease at_release, int wait_ms, const std::function<bool()>& give_up) {
  int nap_ms = 1;
  for (int slept_ms = 0;; slept_ms += nap_ms, nap_ms = std::min(2 * nap_ms, kLongestNapMs)) {
    FileLock lock = attempt(files, folder, path, at_release);
    if (lock.status() != LockStatus::kBusy || slept_ms >= wait_ms) return lock;
    if (give_up && give_up()) return lock;
    files.sleep_ms(nap_ms);
  }
}

void FileLock::release() {
  if (!fd_) return;
  if (at_release_ == AtRelease::kDelete) files_->unlink(folder_, path_);
  // Explicitly, because a forked child may have a copy of the descriptor.
  files_->unlock(fd_.get());
  fd_.close();
  status_ = LockStatus::kUnavailable;
}

}  // namespace heddle
