#include "checkpoint/files/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

OutputFile::OutputFile(std::string path) : path_(std::move(path)), file_(path_) {
  check(file_.open(0666));
}

void OutputFile::check(int error) const {
  if (error == 0) return;
  refuse_file(is_storage_error(-error) ? "checkpoint.unfinished" : "checkpoint.write",
              fmt::format("cannot write {}: {}", path_, new_file_error_text(-error)));
}

void OutputFile::write(std::uint64_t offset, const void* from, std::size_t bytes) const {
  check(file_.write(offset, from, bytes));
}

void OutputFile::commit() { check(file_.publish()); }

}  // namespace heddle
