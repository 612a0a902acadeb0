#include "cache/append_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace heddle {
namespace {

constexpr const char* kNoFile = "not a regular file";

}  // namespace

AppendLog::AppendLog(std::string path, std::function<void(std::string)> warn, FileSystem& files)
    : path_(std::move(path)), warn_(std::move(warn)), files_(files) {}

void AppendLog::add(const std::string& line) {
  if (path_.empty()) return;
  const std::lock_guard guard(mutex_);
  if (written_.count(line) != 0) return;
  if (tell(append(line + "\n"))) written_.insert(line);
}

void AppendLog::check() {
  const std::lock_guard guard(mutex_);
  tell(append({}));
}

bool AppendLog::tell(const std::string& why) {
  if (!why.empty() && !std::exchange(warned_, true) && warn_) {
    warn_(fmt::format("cannot write to {}: {}", path_, why));
  }
  return why.empty();
}

// Linux moves a write to the end of a file that was opened to append, whatever its offset says. A
// short write, of a full disk, leaves half a line that readers refuse.
std::string AppendLog::append(const std::string& line) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Fd fd(&files_, retry_interrupted([&] { return files_.open(AT_FDCWD, path_, flags, 0600); }));
  if (fd.error() == ENXIO) return kNoFile;  // a pipe that nobody reads
  if (!fd) return error_text(fd.error());
  FileInfo info;
  if (const int error = files_.stat(fd.get(), &info); error < 0) return error_text(-error);
  if (!S_ISREG(info.mode)) return kNoFile;
  const ssize_t put =
      retry_interrupted([&] { return files_.write(fd.get(), line.data(), line.size(), 0); });
  if (put < 0) return error_text(static_cast<int>(-put));
  if (static_cast<std::size_t>(put) != line.size()) return error_text(ENOSPC);
  const int error = fd.close();
  return error < 0 ? error_text(-error) : std::string();
}

}  // namespace heddle
