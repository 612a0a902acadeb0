// TensorInfo: one tensor of a safetensors file, as its header describes it.
#ifndef HEDDLE_CHECKPOINT_FILES_TENSOR_H_
#define HEDDLE_CHECKPOINT_FILES_TENSOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/checkpoint.h"

namespace heddle {

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kU8;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // in the data that follows the header
  std::uint64_t bytes = 0;  // == elements * bytes_of(type)
};

std::optional<TensorType> tensor_type(std::string_view word) noexcept;

// The size in bytes of a tensor of this shape; nothing where a side is negative or the size is
// 2^63 or more.
std::optional<std::uint64_t> tensor_bytes(TensorType type, const std::vector<std::int64_t>& shape);

// One of the tensors that lie in a stack: without its first side. Precondition: it has the side,
// and `index` is of it.
TensorInfo member_of_stack(const TensorInfo& stack, std::int64_t index);

// "I32 [512, 4096]", for messages.
std::string describe(TensorType type, const std::vector<std::int64_t>& shape);

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors;  // in the order of their data
};

inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit

// Reads the JSON of a header and checks that the tensors cover `data_bytes` bytes without gap or
// overlap. `file` is for messages. Throws Error(kFile, "checkpoint.header"), which names the file
// and, where the fault is in one, the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

// A floating-point type of 16 bits or more, as weights have that are not quantised.
inline bool is_float(TensorType type) noexcept {
  return type == TensorType::kF16 || type == TensorType::kBf16 || type == TensorType::kF32 ||
         type == TensorType::kF64;
}

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_TENSOR_H_
