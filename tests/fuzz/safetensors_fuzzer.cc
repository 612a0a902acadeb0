// Any bytes as a safetensors file: an error that names the file, or tensors that cover the data
// exactly and can be read.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "checkpoint/files/safetensors.h"
#include "heddle/error.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

// A file in memory whose content is the fuzzer's.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzzed", 0)) { must(fd_ >= 0); }
  void assign(const std::uint8_t* data, std::size_t size) const {
    must(ftruncate(fd_, 0) == 0);
    must(pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void read_all(const heddle::SafetensorsFile& file, std::size_t file_bytes) {
  std::uint64_t end = 0;
  for (const heddle::TensorInfo& tensor : file.header().tensors) {
    must(!tensor.name.empty());
    must(tensor.begin == end);
    must(tensor.bytes == heddle::tensor_bytes(tensor.type, tensor.shape));
    end += tensor.bytes;
    must(end <= file_bytes);
    std::vector<std::uint8_t> bytes(tensor.bytes);
    file.read(tensor, 0, bytes.data(), bytes.size());
  }
  must(end <= file_bytes - sizeof(std::uint64_t));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  file.assign(data, size);
  try {
    read_all(heddle::SafetensorsFile(file.path()), size);
  } catch (const heddle::Error& error) {
    must(error.category() == heddle::ErrorCategory::kFile);
    must(std::string(error.what()).find(file.path()) != std::string::npos);
  }
  return 0;
}
