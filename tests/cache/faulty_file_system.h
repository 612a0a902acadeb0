// FaultyFileSystem: another one, where a test decides which calls fail, with a made-up clock.
#ifndef HEDDLE_TESTS_CACHE_FAULTY_FILE_SYSTEM_H_
#define HEDDLE_TESTS_CACHE_FAULTY_FILE_SYSTEM_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cache/file_system.h"

namespace heddle::testing {

// For one thread. `fault` sees each call's name and its number from 0 and returns 0 or an errno.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& real = posix_file_system()) : real_(real) {}

  std::function<int(const std::string& call, int number)> fault;
  std::vector<std::string> calls;
  std::set<int> open_files;
  std::int64_t clock_skew_ns = 0;
  bool short_transfers = false;  // one byte at a time
  int short_at = -1;             // only the call with this number
  int slept_ms = 0;

  int open(int folder, const std::string& path, int flags, mode_t mode) override {
    if (const int error = next("open")) return -error;
    const int fd = real_.open(folder, path, flags, mode);
    if (fd >= 0) open_files.insert(fd);
    return fd;
  }
  // As Linux does, closes even when it fails.
  int close(int fd) override {
    const int error = next("close");
    open_files.erase(fd);
    const int result = real_.close(fd);
    return error != 0 ? -error : result;
  }
  int duplicate(int fd) override {
    if (const int error = next("duplicate")) return -error;
    const int copy = real_.duplicate(fd);
    if (copy >= 0) open_files.insert(copy);
    return copy;
  }
  ssize_t read(int fd, void* data, std::size_t bytes, std::uint64_t offset) override {
    if (const int error = next("read")) return -error;
    return real_.read(fd, data, portion(bytes), offset);
  }
  ssize_t write(int fd, const void* data, std::size_t bytes, std::uint64_t offset) override {
    if (const int error = next("write")) return -error;
    return real_.write(fd, data, portion(bytes), offset);
  }
  int sync(int fd) override {
    const int error = next("sync");
    return error != 0 ? -error : real_.sync(fd);
  }
  int stat(int fd, FileInfo* info) override {
    const int error = next("stat");
    return error != 0 ? -error : real_.stat(fd, info);
  }
  int stat_at(int folder, const std::string& path, FileInfo* info) override {
    const int error = next("stat_at");
    return error != 0 ? -error : real_.stat_at(folder, path, info);
  }
  int rename(int folder, const std::string& from, const std::string& to) override {
    const int error = next("rename");
    return error != 0 ? -error : real_.rename(folder, from, to);
  }
  int unlink(int folder, const std::string& path) override {
    const int error = next("unlink");
    return error != 0 ? -error : real_.unlink(folder, path);
  }
  int link(int fd, int folder, const std::string& path) override {
    const int error = next("link");
    return error != 0 ? -error : real_.link(fd, folder, path);
  }
  int make_folder(int folder, const std::string& path, mode_t mode) override {
    const int error = next("make_folder");
    return error != 0 ? -error : real_.make_folder(folder, path, mode);
  }
  int list(int folder, std::vector<std::string>* names) override {
    const int error = next("list");
    return error != 0 ? -error : real_.list(folder, names);
  }
  int lock(int fd) override {
    const int error = next("lock");
    return error != 0 ? -error : real_.lock(fd);
  }
  int unlock(int fd) override {
    const int error = next("unlock");
    return error != 0 ? -error : real_.unlock(fd);
  }
  int touch(int fd) override {
    const int error = next("touch");
    return error != 0 ? -error : real_.touch(fd);
  }
  uid_t user() override {
    calls.emplace_back("user");
    return real_.user();
  }
  std::int64_t now_ns() override { return real_.now_ns() + clock_skew_ns; }
  void sleep_ms(int ms) override { slept_ms += ms; }

 private:
  int next(const char* call) {
    const int number = static_cast<int>(calls.size());
    calls.emplace_back(call);
    return fault ? fault(call, number) : 0;
  }
  std::size_t portion(std::size_t bytes) const {
    const bool is_short = short_transfers || static_cast<int>(calls.size()) - 1 == short_at;
    return is_short && bytes > 1 ? 1 : bytes;
  }

  FileSystem& real_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_FAULTY_FILE_SYSTEM_H_
