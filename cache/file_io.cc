#include "cache/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "cache/digest.h"
#include "cache/file_names.h"

namespace heddle {
namespace {

FileContent failed(ReadStatus status, std::string why, int error = 0) {
  FileContent content;
  content.status = status;
  content.why = std::move(why);
  content.error = error;
  return content;
}

const char* distrust(const FileInfo& info, const Trust& trust) {
  if (!S_ISREG(info.mode)) return "not a regular file";
  if (info.owner != trust.user && !(trust.shared && info.owner == 0)) return "of another user";
  if ((info.mode & (S_IWGRP | S_IWOTH)) != 0) return "group or others may write to it";
  if (info.links > 1 && !trust.shared) return "has several hard links";
  return nullptr;
}

int write_temporary(FileSystem& files, Fd fd, ByteView bytes) {
  int error = write_all(files, fd.get(), bytes);
  if (error == 0) error = retry_interrupted([&] { return files.sync(fd.get()); });
  // A network file system may report a full disk only here. Interrupted, Linux has closed it.
  const int close_error = fd.close();
  if (error == 0 && close_error != -EINTR) error = close_error;
  return error;
}

}  // namespace

std::string temporary_name(FileSystem& files, const std::string& stem) {
  static std::atomic<std::uint64_t> counter{0};
  const std::uint64_t seed[] = {static_cast<std::uint64_t>(::getpid()), counter.fetch_add(1),
                                static_cast<std::uint64_t>(files.now_ns())};
  return stem + "." + hex(digest(seed, sizeof seed)).substr(0, 16) + kTemporarySuffix;
}

std::string absolute_path(std::string_view path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? std::string(path) : absolute.string();
}

FileContent open_trusted(FileSystem& files, int folder, const std::string& path,
                         const Trust& trust) {
  Fd fd = open_file(files, folder, path, O_RDONLY);
  if (fd.error() == ENOENT) return failed(ReadStatus::kAbsent, "absent");
  if (fd.error() == ELOOP) return failed(ReadStatus::kRefused, "a symbolic link");
  if (!fd) return failed(ReadStatus::kFailed, error_text(fd.error()), fd.error());
  FileContent content;
  const int error = files.stat(fd.get(), &content.info);
  if (error < 0) return failed(ReadStatus::kFailed, error_text(-error), -error);
  if (const char* why = distrust(content.info, trust)) {
    return failed(ReadStatus::kRefused, why);
  }
  content.status = ReadStatus::kOk;
  content.fd = std::move(fd);
  return content;
}

FileContent read_file(FileSystem& files, int folder, const std::string& path, const Trust& trust,
                      std::uint64_t max_bytes, ReadBuffer spare) {
  FileContent content = open_trusted(files, folder, path, trust);
  if (content.status != ReadStatus::kOk) return content;
  if (content.info.size > max_bytes) return failed(ReadStatus::kFailed, "too large", EFBIG);
  content.size = static_cast<std::size_t>(content.info.size);
  if (spare.capacity < content.size || spare.data == nullptr) {
    spare = {nullptr, 0};  // first, so that there are never two
    spare.data.reset(new (std::nothrow) std::uint8_t[content.size]);
    if (spare.data == nullptr) return failed(ReadStatus::kFailed, "out of memory", ENOMEM);
    spare.capacity = content.size;
  }
  content.buffer = std::move(spare);
  const int read_error = read_all(files, content.fd.get(), content.buffer.data.get(), content.size);
  if (read_error < 0) return failed(ReadStatus::kFailed, error_text(-read_error), -read_error);
  return content;
}

int read_all(FileSystem& files, int fd, void* data, std::size_t bytes, std::uint64_t offset) {
  auto* const to = static_cast<std::uint8_t*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got =
        retry_interrupted([&] { return files.read(fd, to + done, bytes - done, offset + done); });
    if (got < 0) return static_cast<int>(got);
    if (got == 0) return -EIO;  // shorter than it was a moment ago
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

int write_all(FileSystem& files, int fd, ByteView bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = retry_interrupted(
        [&] { return files.write(fd, bytes.data() + done, bytes.size() - done, done); });
    if (put < 0) return static_cast<int>(put);
    if (put == 0) return -EIO;
    done += static_cast<std::size_t>(put);
  }
  return 0;
}

int publish_file(FileSystem& files, int folder, const std::string& stem, const std::string& name,
                 ByteView bytes, mode_t mode) {
  std::string temporary;
  Fd fd;
  for (int tries = 0; tries < 16; ++tries) {
    temporary = temporary_name(files, stem);
    fd = open_file(files, folder, temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd.error() != EEXIST) break;
  }
  if (!fd) return -fd.error();
  int error = write_temporary(files, std::move(fd), bytes);
  if (error == 0) {
    error = retry_interrupted([&] { return files.rename(folder, temporary, name); });
  }
  if (error < 0) {
    files.unlink(folder, temporary);
    return error;
  }
  // The entry is complete either way; failing here only means that a power cut may lose it.
  files.sync(folder);
  return 0;
}

}  // namespace heddle
