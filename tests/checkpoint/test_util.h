// Folders and small safetensors files for the tests of this folder.
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

#include "checkpoint/files/safetensors.h"
#include "tests/temporary_folder.h"
#include "tools/sample_model/tensor_file.h"

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

using TestTensor = SampleTensor;

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_TEST_UTIL_H_
