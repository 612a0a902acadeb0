// CacheRoot: the folder that a disk cache lives in, found trustworthy before it is used.
#ifndef HEDDLE_CACHE_ROOT_H_
#define HEDDLE_CACHE_ROOT_H_

#include <memory>
#include <mutex>
#include <string>

#include "cache/file_system.h"

namespace heddle {

enum class RootStatus {
  kOk,
  kAbsent,   // not there (yet)
  kRefused,  // there, but it cannot be used or not be trusted
};

struct RootFolder {
  RootStatus status = RootStatus::kRefused;
  std::shared_ptr<const Fd> base;  // of the format folder; set for kOk only
  std::string why;                 // for every status but kOk
};

// The root and the format folder below it must be folders, no links, owned by this user (a
// read-only root: or by root), and not writable by group or others. The folder stays open, so that
// what was checked is what is used even if a path component is replaced later.
// Thread-safe.
class CacheRoot {
 public:
  CacheRoot(FileSystem& files, std::string path, bool read_only);

  // Opens on the first call. With `create`, makes what is missing, with mode 0700. A failure is
  // not remembered: the next call tries again.
  RootFolder folder(bool create);

  // For after the folder was deleted behind our back: the next folder() opens anew.
  void forget();

  const std::string& path() const { return path_; }

 private:
  RootFolder open(bool create);
  RootFolder open_checked(int parent, const std::string& path, bool create);
  std::string distrust(const FileInfo& info);

  FileSystem& files_;
  const std::string path_;
  const bool read_only_;
  std::mutex mutex_;
  std::shared_ptr<const Fd> base_;  // guarded by mutex_
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_ROOT_H_
