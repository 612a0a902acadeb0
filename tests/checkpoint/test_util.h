// Folders, small safetensors files and packers of foreign formats for the tests of this folder.
#ifndef HEDDLE_TESTS_CHECKPOINT_TEST_UTIL_H_
#define HEDDLE_TESTS_CHECKPOINT_TEST_UTIL_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "tests/temporary_folder.h"

namespace heddle {

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file with this header and these data, right or wrong.
inline std::string safetensors(std::string_view header, std::string_view data) {
  std::string file(8, '\0');
  const std::uint64_t bytes = header.size();
  std::memcpy(file.data(), &bytes, 8);
  return file.append(header).append(data);
}

struct TestTensor {
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

inline void write_tensors(const std::string& path, const std::vector<TestTensor>& tensors) {
  std::vector<TensorInfo> infos;
  for (const TestTensor& tensor : tensors) {
    infos.push_back({tensor.name, tensor.type, tensor.shape, 0, 0});
  }
  SafetensorsWriter writer(path, infos, {});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    writer.write(i, 0, tensors[i].bytes.data(), tensors[i].bytes.size());
  }
  writer.commit();
}

// Value `i` of `values` to bits [i * bits, ...) of a stream of words.
inline std::vector<std::uint32_t> pack_stream(const std::vector<std::uint32_t>& values, int bits) {
  std::vector<std::uint32_t> words((values.size() * static_cast<std::size_t>(bits) + 31) / 32);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const std::size_t bit = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      words[bit / 32] |= (values[i] >> b & 1U) << (bit % 32);
    }
  }
  return words;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_TEST_UTIL_H_
