#include "tools/heddle/kv_sample_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/half_convert.h"
#include "checkpoint/safetensors.h"
#include "generator/decode/float16.h"
#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& why) {
  throw Error(ErrorCategory::kFile, "tool.kv_data", fmt::format("{}: {}", file.path(), why));
}

const TensorInfo* find(const SafetensorsFile& file, const char* name) {
  const std::vector<TensorInfo>& tensors = file.header().tensors;
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

// K or V: any number of tokens, all of `heads` heads.
const TensorInfo& cached(const SafetensorsFile& file, const char* name, int heads, int head_dim) {
  const TensorInfo* tensor = find(file, name);
  if (tensor == nullptr) refuse(file, fmt::format("there is no tensor \"{}\"", name));
  const std::vector<std::int64_t>& shape = tensor->shape;
  if (shape.size() == 3 && shape[0] >= 1 && shape[1] == heads && shape[2] == head_dim) {
    return *tensor;
  }
  refuse(file, fmt::format("\"{}\" is {}; the model's is [tokens, {}, {}]", name,
                           describe(tensor->type, shape), heads, head_dim));
}

// The first `taken` of every `row` elements.
std::vector<float> values_of(const SafetensorsFile& file, const TensorInfo& tensor, DType dtype,
                             std::size_t row, std::size_t taken) {
  const bool is_float = tensor.type == TensorType::kF16 || tensor.type == TensorType::kBf16 ||
                        tensor.type == TensorType::kF32;
  if (!is_float) {
    refuse(file, fmt::format("\"{}\" is {}; it has to be F16, BF16 or F32", tensor.name,
                             describe(tensor.type, tensor.shape)));
  }
  std::vector<std::uint8_t> bytes(tensor.bytes);
  file.read(tensor, 0, bytes.data(), bytes.size());
  const Float16Format format = float16_format(dtype);
  const std::size_t count = tensor.bytes / static_cast<std::size_t>(bytes_of(tensor.type));
  std::vector<float> values;
  for (std::size_t first = 0; first < count; first += row) {
    for (std::size_t i = first; i < first + taken; ++i) {
      const double value = float16_to_double(
          format, float16_from_double(format, float_element(tensor.type, bytes.data(), i)));
      if (!std::isfinite(value)) {
        refuse(file, fmt::format("element {} of \"{}\" is not finite in {}", i, tensor.name,
                                 to_string(dtype)));
      }
      values.push_back(static_cast<float>(value));
    }
  }
  return values;
}

}  // namespace

KvSample read_kv_sample(const std::string& path, const AttentionShape& shape, int most_heads,
                        DType dtype, std::uint32_t seed) {
  const SafetensorsFile file(path);
  const int heads = std::min(shape.kv_heads, most_heads);
  const int ratio = shape.heads / shape.kv_heads;
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const std::size_t row = static_cast<std::size_t>(shape.kv_heads) * dim;
  const std::size_t taken = static_cast<std::size_t>(heads) * dim;
  const TensorInfo& k = cached(file, "k", shape.kv_heads, shape.head_dim);
  const TensorInfo& v = cached(file, "v", shape.kv_heads, shape.head_dim);
  if (k.shape != v.shape) refuse(file, "\"k\" and \"v\" have different numbers of tokens");
  const int tokens = static_cast<int>(k.shape[0]);
  KvSample sample = make_kv_sample(heads, ratio, shape.head_dim, 1, dtype, seed);
  sample.tokens = tokens;
  sample.k = values_of(file, k, dtype, row, taken);
  sample.v = values_of(file, v, dtype, row, taken);
  if (const TensorInfo* q = find(file, "q"); q != nullptr) {
    if (q->shape != std::vector<std::int64_t>{shape.heads, shape.head_dim}) {
      refuse(file, fmt::format("\"q\" is {}; the model's is [{}, {}]", describe(q->type, q->shape),
                               shape.heads, shape.head_dim));
    }
    sample.q = values_of(file, *q, dtype, static_cast<std::size_t>(ratio) * row,
                         static_cast<std::size_t>(ratio) * taken);
  }
  return sample;
}

}  // namespace heddle
