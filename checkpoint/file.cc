#include "checkpoint/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // Linux moves less than 2 GiB

[[noreturn]] void refuse_file(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kFile, code, message);
}

std::string error_text(int number) { return std::generic_category().message(number); }

// A part of such a name.
bool is_hub_word(std::string_view word) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !word.empty() && word.front() != '.' && word.find_first_not_of(kLetters) == word.npos;
}

}  // namespace

std::string hub_hint(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {};
  const std::string owner = path.substr(0, slash);
  const std::string model = path.substr(slash + 1);
  if (!is_hub_word(owner) || !is_hub_word(model)) return {};
  for (const std::string_view end : {".json", ".safetensors", ".hdl"}) {
    if (model.ends_with(end)) return {};
  }
  std::error_code none;
  if (std::filesystem::exists(path, none) || std::filesystem::exists(owner, none)) return {};
  return fmt::format(
      "; if it is a model's name on Hugging Face, download its folder (hf download {} --local-dir "
      "{}) and give that folder: Heddle reads local files alone",
      path, model);
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a pipe that nobody writes must not hang; regular files do not heed it.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    const int reason = errno;
    refuse_file("checkpoint.open", fmt::format("cannot read {}: {}{}", path_, error_text(reason),
                                               reason == ENOENT ? hub_hint(path_) : ""));
  }
  struct stat info {};
  const int error = ::fstat(fd_, &info) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(fd_);
  refuse_file("checkpoint.open",
              fmt::format("cannot read {}: {}", path_,
                          error != 0 ? error_text(error) : "not a regular file"));
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* at = static_cast<std::uint8_t*>(to);
  while (bytes != 0) {
    const ssize_t got =
        ::pread(fd_, at, std::min(bytes, kLargestTransfer), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      refuse_file("checkpoint.read",
                  fmt::format("cannot read {} at byte {}: {}", path_, offset,
                              got < 0 ? error_text(errno) : "the file has become shorter"));
    }
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  // Renaming over a folder or a device would fail late, or destroy it.
  const auto status = std::filesystem::status(path_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse_file("checkpoint.write", fmt::format("cannot write {}: not a regular file", path_));
  }
  // Another process may write the same file: each has its own temporary.
  static std::atomic<unsigned> counter{0};
  for (int tries = 0; fd_ < 0 && tries < 100; ++tries) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), counter.fetch_add(1));
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  refuse_file("checkpoint.write", fmt::format("cannot write {}: {}", path_, error_text(error)));
}

void OutputFile::write(std::uint64_t offset, const void* from, std::size_t bytes) const {
  const auto* at = static_cast<const std::uint8_t*>(from);
  while (bytes != 0) {
    const ssize_t put =
        ::pwrite(fd_, at, std::min(bytes, kLargestTransfer), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail(put < 0 ? errno : EIO);
    at += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
}

void OutputFile::commit() {
  if (::fsync(fd_) != 0) fail(errno);
  // A network file system may report a full disk only here. Interrupted, Linux has closed it.
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0 && errno != EINTR) fail(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  // The file is complete either way; failing here only means that a power cut may lose it.
  ::fsync(fd);
  ::close(fd);
}

}  // namespace heddle
