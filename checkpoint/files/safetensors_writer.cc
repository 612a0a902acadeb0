#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/files/safetensors.h"

namespace heddle {
namespace {

constexpr std::size_t kAlignment =
    64;  // of the data: a tensor may be copied to a device from there

std::string header_text(const std::vector<TensorInfo>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string text = header.dump();
  text.pop_back();
  // Member by member: the ordered object looks a key up by going through all of them.
  for (const TensorInfo& tensor : tensors) {
    const nlohmann::ordered_json body = {
        {"dtype", to_string(tensor.type)},
        {"shape", tensor.shape},
        {"data_offsets", {tensor.begin, tensor.begin + tensor.bytes}}};
    if (text.size() > 1) text += ',';
    text += nlohmann::ordered_json(tensor.name).dump() + ':' + body.dump();
  }
  text += '}';
  while ((kPrefixBytes + text.size()) % kAlignment != 0) text += ' ';
  return text;
}

std::vector<TensorInfo> laid_out(std::vector<TensorInfo> tensors) {
  std::uint64_t end = 0;
  for (TensorInfo& tensor : tensors) {
    tensor.begin = end;
    tensor.bytes = tensor_bytes(tensor.type, tensor.shape).value_or(0);
    end += tensor.bytes;
  }
  return tensors;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::string path, std::vector<TensorInfo> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(std::move(path)), tensors_(laid_out(std::move(tensors))) {
  const std::string text = header_text(tensors_, metadata);
  std::array<std::uint8_t, kPrefixBytes> prefix{};
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    prefix[i] = static_cast<std::uint8_t>(std::uint64_t{text.size()} >> (8 * i));
  }
  file_.write(0, prefix.data(), prefix.size());
  file_.write(kPrefixBytes, text.data(), text.size());
  data_ = kPrefixBytes + text.size();
}

void SafetensorsWriter::write(std::size_t tensor, std::uint64_t offset, const void* from,
                              std::size_t bytes) const {
  file_.write(data_ + tensors_[tensor].begin + offset, from, bytes);
}

}  // namespace heddle
