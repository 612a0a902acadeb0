// InputFile and OutputFile: reading and writing ranges of a file, from any thread.
#ifndef HEDDLE_CHECKPOINT_FILES_FILE_H_
#define HEDDLE_CHECKPOINT_FILES_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "cache/new_file.h"

namespace heddle {

// What to do about a path that is not there and looks like a model's name on a hub ("owner/model"):
// "; if it is ...", to follow the reason why it cannot be read. Empty for other paths.
std::string hub_hint(const std::string& path);

// A regular file, open for reading. read() may be called from any thread.
class InputFile {
 public:
  // Throws Error(kFile, "checkpoint.open").
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  // All of the range. Throws Error(kFile, "checkpoint.read").
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// A new file that takes the place of `path` once it is complete: what every command and function
// writes that writes a file. Without commit() nothing is left of it (cache/new_file.h).
class OutputFile {
 public:
  // As the others, throws Error(kFile, "checkpoint.write"), or "checkpoint.unfinished" where the
  // disk is full or the file larger than it may be, which is no fault of its name.
  explicit OutputFile(std::string path);

  // May be called from any thread.
  void write(std::uint64_t offset, const void* from, std::size_t bytes) const;
  // On disk, then in place.
  void commit();

 private:
  void check(int error) const;

  std::string path_;
  NewFile file_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_FILE_H_
