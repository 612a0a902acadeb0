#include "cache/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/file_io.h"
#include "cache/file_names.h"

namespace heddle {
namespace {

constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // Linux moves less than 2 GiB
constexpr int kMostTries = 16;

// Paths for a signal's handler, which may not take a lock. More files at a time are not listed.
std::array<std::atomic<char*>, 16> listed_files{};

// With the slash at its end.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

bool is_temporary_of(std::string_view name, std::string_view own) {
  constexpr std::size_t kDigits = 16;
  constexpr std::string_view kSuffix = kTemporarySuffix;
  if (name.size() != own.size() + 1 + kDigits + kSuffix.size()) return false;
  const std::string_view digits = name.substr(own.size() + 1, kDigits);
  return name.starts_with(own) && name[own.size()] == '.' && name.ends_with(kSuffix) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

ListedFile::ListedFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  path_ = ::strdup((error ? std::filesystem::path(path) : absolute).c_str());
  for (std::atomic<char*>& place : listed_files) {
    char* none = nullptr;
    if (path_ == nullptr || !place.compare_exchange_strong(none, path_)) continue;
    place_ = &place;
    return;
  }
  std::free(std::exchange(path_, nullptr));
}

ListedFile& ListedFile::operator=(ListedFile&& other) noexcept {
  std::swap(place_, other.place_);
  std::swap(path_, other.path_);
  return *this;
}

// What a handler has taken may still be read there.
ListedFile::~ListedFile() {
  char* own = path_;
  if (place_ != nullptr && place_->compare_exchange_strong(own, nullptr)) std::free(path_);
}

NewFile::NewFile(std::string path, FileSystem& files)
    : path_(std::move(path)), name_(path_.substr(path_.rfind('/') + 1)), files_(files) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) files_.unlink(folder_.get(), temporary_);
}

void NewFile::forget_temporary() {
  temporary_.clear();
  listed_ = ListedFile();
}

int NewFile::open(mode_t mode) {
  if (name_.empty()) return path_.empty() ? -ENOENT : -EISDIR;
  const Fd before(&files_, files_.open(AT_FDCWD, path_, O_PATH | O_CLOEXEC, 0));
  FileInfo info;
  if (before && files_.stat(before.get(), &info) == 0 && !S_ISREG(info.mode)) return -ENODEV;
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  folder_ =
      Fd(&files_,
         retry_interrupted([&] { return files_.open(AT_FDCWD, folder_of(path_), flags, 0); }));
  if (!folder_) return -folder_.error();
  sweep();
  return open_unnamed(mode) == 0 ? 0 : open_named(mode);
}

// It gets its name through /proc, which a sandbox may lack: that is found out now.
int NewFile::open_unnamed(mode_t mode) {
  const int flags = O_TMPFILE | O_WRONLY | O_CLOEXEC;
  Fd fd(&files_, retry_interrupted([&] { return files_.open(folder_.get(), ".", flags, mode); }));
  if (!fd) return -fd.error();
  FileInfo info;
  const int error = files_.stat_at(AT_FDCWD, own_descriptor_path(fd.get()), &info);
  if (error == 0) fd_ = std::move(fd);
  return error;
}

int NewFile::open_named(mode_t mode) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::string name = temporary_name(files_, name_);
    ListedFile listed(folder_of(path_) + name);  // first: a signal may come at any moment
    Fd fd = open_file(files_, folder_.get(), name, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd.error() == EEXIST) continue;
    if (!fd) return -fd.error();
    // Somebody who sweeps may have taken the lock first, and the name with it.
    FileInfo info;
    const bool is_swept = files_.lock(fd.get()) == -EWOULDBLOCK ||
                          (files_.stat(fd.get(), &info) == 0 && info.links == 0);
    if (is_swept) {
      files_.unlink(folder_.get(), name);
      continue;
    }
    fd_ = std::move(fd);
    temporary_ = name;
    listed_ = std::move(listed);
    return 0;
  }
  return -EEXIST;
}

// What processes have left that were killed. Where there are no locks nobody can tell.
void NewFile::sweep() {
  const Fd readable = open_folder(files_, folder_.get(), ".");
  std::vector<std::string> names;
  if (!readable || files_.list(readable.get(), &names) < 0) return;
  for (const std::string& name : names) {
    if (!is_temporary_of(name, name_)) continue;
    const Fd stray = open_file(files_, folder_.get(), name, O_WRONLY);
    FileInfo info;
    if (!stray || files_.stat(stray.get(), &info) < 0 || !S_ISREG(info.mode)) continue;
    if (info.owner == files_.user() && files_.lock(stray.get()) == 0) {
      files_.unlink(folder_.get(), name);
    }
  }
}

int NewFile::write(std::uint64_t offset, const void* from, std::size_t bytes) const {
  const auto* at = static_cast<const std::uint8_t*>(from);
  while (bytes != 0) {
    const std::size_t part = std::min(bytes, kLargestTransfer);
    const ssize_t put =
        retry_interrupted([&] { return files_.write(fd_.get(), at, part, offset); });
    if (put < 0) return static_cast<int>(put);
    if (put == 0) return -EIO;
    at += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
  return 0;
}

// linkat() cannot replace a file. If the name is taken, link under a temporary name, locked so that
// sweep() leaves it alone, and rename.
int NewFile::link_unnamed() {
  int error = files_.link(fd_.get(), folder_.get(), name_);
  if (error != -EEXIST) return error;
  files_.lock(fd_.get());
  for (int tries = 0; error == -EEXIST && tries < kMostTries; ++tries) {
    const std::string name = temporary_name(files_, name_);
    ListedFile listed(folder_of(path_) + name);
    error = files_.link(fd_.get(), folder_.get(), name);
    if (error != 0) continue;
    temporary_ = name;
    listed_ = std::move(listed);
  }
  return error;
}

// A network file system may report a full disk only when a descriptor is closed, so a copy is
// closed before the file takes its place. fd_ stays open with the lock: another process's sweep()
// must not take the temporary name for one that was left. If close() is interrupted, Linux has
// closed it.
int NewFile::close_copy() {
  Fd copy(&files_, files_.duplicate(fd_.get()));
  if (!copy) return -copy.error();
  const int error = copy.close();
  return error == -EINTR ? 0 : error;
}

int NewFile::publish() {
  int error = retry_interrupted([&] { return files_.sync(fd_.get()); });
  if (error == 0) error = close_copy();
  if (error == 0 && temporary_.empty()) error = link_unnamed();
  if (error == 0 && !temporary_.empty()) {
    error = retry_interrupted([&] { return files_.rename(folder_.get(), temporary_, name_); });
  }
  if (error < 0) return error;
  forget_temporary();
  fd_.close();
  // The file is complete either way; failing here only means that a power cut may lose it.
  const Fd readable = open_folder(files_, folder_.get(), ".");
  if (readable) files_.sync(readable.get());
  return 0;
}

int write_new_file(const std::string& path, mode_t mode, std::span<const char> content) {
  NewFile file(path);
  int error = file.open(mode);
  if (error == 0) error = file.write(0, content.data(), content.size());
  if (error == 0) error = file.publish();
  return error;
}

bool is_storage_error(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

std::string new_file_error_text(int error) {
  return error == ENODEV ? "not a regular file" : error_text(error);
}

void unlink_new_files() noexcept {
  for (std::atomic<char*>& place : listed_files) {
    const char* const path = place.exchange(nullptr);
    if (path != nullptr) ::unlink(path);
  }
}

}  // namespace heddle
