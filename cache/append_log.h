// AppendLog: a text file that processes add lines to.
#ifndef HEDDLE_CACHE_APPEND_LOG_H_
#define HEDDLE_CACHE_APPEND_LOG_H_

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "cache/file_system.h"

namespace heddle {

// Thread-safe, and safe beside other processes: each line is one write to the file's end. A pipe or
// a device is no log: writing to it could wait for ever. Nor is a file with other text in it.
class AppendLog {
 public:
  // `warn` (may be empty) is told at most once why nothing can be written; that is no error.
  // Nothing is added to a file with a text that does not begin, after white space, with `start`:
  // it is somebody else's.
  AppendLog(std::string path, std::function<void(std::string)> warn, std::string start = {},
            FileSystem& files = posix_file_system());

  // Adds the line and a newline, unless this object has written the same line before. An empty path
  // does nothing.
  void add(const std::string& line);
  // Tells `warn` whether lines could be added now; makes the file where there is none.
  void check();

 private:
  bool tell(const std::string& why);
  // Why not; empty when it is done.
  std::string append(const std::string& line);
  bool is_other_text(int fd) const;

  const std::string path_;
  const std::function<void(std::string)> warn_;
  const std::string start_;
  FileSystem& files_;
  std::mutex mutex_;
  std::set<std::string> written_;  // guarded by mutex_, as is the next
  bool warned_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_APPEND_LOG_H_
