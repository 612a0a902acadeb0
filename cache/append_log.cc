#include "cache/append_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>
#include <utility>

namespace heddle {
namespace {

constexpr const char* kNoFile = "not a regular file";
constexpr const char* kOtherText = "it has a text of another kind, which is left as it is";
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kHeadBytes = 4096;

}  // namespace

AppendLog::AppendLog(std::string path, std::function<void(std::string)> warn, std::string start,
                     FileSystem& files)
    : path_(std::move(path)), warn_(std::move(warn)), start_(std::move(start)), files_(files) {}

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

// A file that cannot be read is none that is known to be a log.
bool AppendLog::is_other_text(int fd) const {
  std::string head(kHeadBytes, '\0');
  const ssize_t got =
      retry_interrupted([&] { return files_.read(fd, head.data(), head.size(), 0); });
  if (got < 0) return true;
  head.resize(static_cast<std::size_t>(got));
  const std::size_t first = head.find_first_not_of(kSpace);
  return first != head.npos && head.compare(first, start_.size(), start_) != 0;
}

// Linux moves a write to the end of a file that was opened to append, whatever its offset says. A
// short write, of a full disk, leaves half a line that readers refuse.
std::string AppendLog::append(const std::string& line) {
  const int flags =
      (start_.empty() ? O_WRONLY : O_RDWR) | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Fd fd(&files_, retry_interrupted([&] { return files_.open(AT_FDCWD, path_, flags, 0600); }));
  if (fd.error() == ENXIO) return kNoFile;  // a pipe that nobody reads
  if (!fd) return error_text(fd.error());
  FileInfo info;
  if (const int error = files_.stat(fd.get(), &info); error < 0) return error_text(-error);
  if (!S_ISREG(info.mode)) return kNoFile;
  if (!start_.empty() && is_other_text(fd.get())) return kOtherText;
  const ssize_t put =
      retry_interrupted([&] { return files_.write(fd.get(), line.data(), line.size(), 0); });
  if (put < 0) return error_text(static_cast<int>(-put));
  if (static_cast<std::size_t>(put) != line.size()) return error_text(ENOSPC);
  const int error = fd.close();
  return error < 0 ? error_text(-error) : std::string();
}

}  // namespace heddle
