// Tensors in memory, and a safetensors file of them.
#ifndef HEDDLE_TOOLS_SAMPLE_MODEL_TENSOR_FILE_H_
#define HEDDLE_TOOLS_SAMPLE_MODEL_TENSOR_FILE_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/files/safetensors.h"

namespace heddle {

struct SampleTensor {
  std::string name;
  TensorType type;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

template <class T>
std::vector<std::uint8_t> bytes_of_values(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Throws Error(kFile).
inline void write_tensors(const std::string& path, const std::vector<SampleTensor>& tensors,
                          const std::map<std::string, std::string>& metadata = {}) {
  std::vector<TensorInfo> infos;
  infos.reserve(tensors.size());
  for (const SampleTensor& tensor : tensors) {
    infos.push_back({tensor.name, tensor.type, tensor.shape, 0, 0});
  }
  SafetensorsWriter writer(path, infos, metadata);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    writer.write(i, 0, tensors[i].bytes.data(), tensors[i].bytes.size());
  }
  writer.commit();
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_SAMPLE_MODEL_TENSOR_FILE_H_
