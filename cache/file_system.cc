#include "cache/file_system.h"

#include <fcntl.h>

#include <system_error>

namespace heddle {

FileSystem::~FileSystem() = default;

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    close();
    files_ = other.files_;
    fd_ = other.release();
  }
  return *this;
}

int Fd::close() {
  const int fd = release();
  return fd < 0 ? 0 : files_->close(fd);
}

Fd open_file(FileSystem& files, int folder, const std::string& path, int flags, mode_t mode) {
  const int all = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  return {&files, retry_interrupted([&] { return files.open(folder, path, all, mode); })};
}

Fd open_folder(FileSystem& files, int folder, const std::string& path) {
  return open_file(files, folder, path, O_RDONLY | O_DIRECTORY);
}

std::string own_descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace heddle
