// SafetensorsFile: one open safetensors file with its checked header.
#ifndef HEDDLE_CHECKPOINT_FILES_SAFETENSORS_H_
#define HEDDLE_CHECKPOINT_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/files/file.h"
#include "checkpoint/files/tensor.h"

namespace heddle {

// A file begins with the length of its header, little-endian.
inline constexpr std::size_t kPrefixBytes = 8;

// Whether a regular file begins as one of safetensors does, whatever its name: with a length that
// is inside of the file, then "{". False for what cannot be read.
bool has_safetensors_header(const std::string& path);

// Immutable after construction: any thread may call it.
class SafetensorsFile {
 public:
  // Throws Error(kFile): "checkpoint.open", "checkpoint.read", "checkpoint.header".
  explicit SafetensorsFile(std::string path);

  const std::string& path() const noexcept { return file_.path(); }
  const SafetensorsHeader& header() const noexcept { return header_; }
  // Part of a tensor of this file. Precondition: the range is inside of it.
  void read(const TensorInfo& tensor, std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  InputFile file_;
  std::uint64_t data_ = 0;  // where the data starts
  SafetensorsHeader header_;
};

// Writes a file of tensors whose sizes are known at the start, in any order, from any thread.
class SafetensorsWriter {
 public:
  // Takes name, type and shape of each tensor; they are laid out in this order, the first one at a
  // multiple of 64 bytes. Throws what OutputFile throws.
  SafetensorsWriter(std::string path, std::vector<TensorInfo> tensors,
                    const std::map<std::string, std::string>& metadata);

  // `tensor` is an index into the list. Precondition: the range is inside of the tensor.
  void write(std::size_t tensor, std::uint64_t offset, const void* from, std::size_t bytes) const;
  // Once everything has been written.
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  std::uint64_t data_ = 0;
  std::vector<TensorInfo> tensors_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_SAFETENSORS_H_
