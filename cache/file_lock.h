// FileLock: an exclusive lock between threads and processes, held through a file with flock().
//
// The kernel releases it when its holder dies. Lock files come and go without a race: the holder
// deletes the file before it lets go, and who got a lock checks that the file still has its name,
// else starts again. So a lock file lives no longer than its lock, but for a killed holder, whose
// file the next holder or the next sweep removes.
#ifndef HEDDLE_CACHE_FILE_LOCK_H_
#define HEDDLE_CACHE_FILE_LOCK_H_

#include <functional>
#include <string>

#include "cache/file_system.h"

namespace heddle {

enum class LockStatus {
  kHeld,
  kBusy,         // somebody else holds it
  kUnavailable,  // the file cannot be made or locked here
};

class FileLock {
 public:
  enum class AtRelease { kDelete, kKeep };

  FileLock() = default;
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { release(); }

  // Does not wait. `folder` must stay open for as long as the lock.
  static FileLock attempt(FileSystem& files, int folder, const std::string& path,
                          AtRelease at_release);

  // Tries again until it is held, cannot be had, `give_up` (may be empty) says true, or the naps
  // between the tries add up to wait_ms.
  static FileLock wait(FileSystem& files, int folder, const std::string& path, AtRelease at_release,
                       int wait_ms, const std::function<bool()>& give_up);

  LockStatus status() const { return status_; }
  int error() const { return error_; }  // errno, for kUnavailable
  int fd() const { return fd_.get(); }
  void release();

 private:
  FileSystem* files_ = nullptr;
  int folder_ = -1;
  std::string path_;
  AtRelease at_release_ = AtRelease::kKeep;
  LockStatus status_ = LockStatus::kUnavailable;
  int error_ = 0;
  Fd fd_;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_FILE_LOCK_H_
