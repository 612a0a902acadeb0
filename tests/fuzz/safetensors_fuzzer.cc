// Any bytes as a safetensors header: an Error or a header whose tensors cover the data exactly.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checkpoint/tensor.h"
#include "heddle/error.h"

// The first two bytes are the number of bytes of data, the rest is the header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t data_bytes = data[0] | data[1] << 8;
  const std::string_view json(reinterpret_cast<const char*>(data) + 2, size - 2);
  try {
    const heddle::SafetensorsHeader header =
        heddle::parse_safetensors_header(json, data_bytes, "file");
    std::uint64_t end = 0;
    for (const heddle::TensorInfo& tensor : header.tensors) {
      if (tensor.begin != end) std::abort();
      if (tensor.bytes != heddle::tensor_bytes(tensor.type, tensor.shape)) std::abort();
      end += tensor.bytes;
    }
    if (end != data_bytes) std::abort();
  } catch (const heddle::Error& error) {
    if (error.category() != heddle::ErrorCategory::kFile) std::abort();
  }
  return 0;
}
