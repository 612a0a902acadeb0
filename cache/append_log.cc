#include "cache/append_log.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <utility>

namespace heddle {

AppendLog::AppendLog(std::string path, std::function<void(std::string)> warn, FileSystem& files)
    : path_(std::move(path)), warn_(std::move(warn)), files_(files) {}

void AppendLog::add(const std::string& line) {
  if (path_.empty()) return;
  const std::lock_guard guard(mutex_);
  if (written_.count(line) != 0) return;
  const int error = append(line + "\n");
  if (error == 0) {
    written_.insert(line);
  } else if (!std::exchange(warned_, true) && warn_) {
    warn_(fmt::format("cannot write to {}: {}", path_, error_text(-error)));
  }
}

// Linux moves a write to the end of a file that was opened to append, whatever its offset says. A
// short write, of a full disk, leaves half a line that readers refuse.
int AppendLog::append(const std::string& line) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
  Fd fd(&files_, retry_interrupted([&] { return files_.open(AT_FDCWD, path_, flags, 0600); }));
  if (!fd) return -fd.error();
  const ssize_t put =
      retry_interrupted([&] { return files_.write(fd.get(), line.data(), line.size(), 0); });
  if (put < 0) return static_cast<int>(put);
  return static_cast<std::size_t>(put) == line.size() ? fd.close() : -ENOSPC;
}

}  // namespace heddle
