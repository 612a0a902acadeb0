#include "checkpoint/plan/input_scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/codes/half_convert.h"
#include "checkpoint/modules/layer_error.h"

namespace heddle {
namespace {

constexpr const char* kInputScale = ".input_scale";
constexpr const char* kTransformersScale = ".activation_scale";
constexpr const char* kZeroPoint = ".input_zero_point";
constexpr const char* kInSixteenBits =
    "; --activations 16 (activation_bits) takes its activations in 16 bits";

// By other scales row_transform makes codes of zero.
constexpr float kSmallest = 0x1p-126F;
constexpr float kLargest = 0x1p126F;

bool is_one_float(const TensorInfo& tensor) {
  return is_float(tensor.type) && tensor.type != TensorType::kF64 &&
         tensor.bytes == static_cast<std::uint64_t>(bytes_of(tensor.type));
}

float scale_of_part(const Checkpoint& checkpoint, const std::string& part) {
  const TensorInfo* tensor = checkpoint.find(part + kInputScale);
  if (tensor == nullptr) tensor = checkpoint.find(part + kTransformersScale);
  if (tensor == nullptr) {
    refuse_layer(part, fmt::format("the tensor {}{} is missing: the config says that the scale of "
                                   "its activations is static{}",
                                   part, kInputScale, kInSixteenBits));
  }
  if (!is_one_float(*tensor)) {
    refuse_layer(part,
                 fmt::format("the tensor {} is {}, which is no scale of all activations{}",
                             tensor->name, describe(tensor->type, tensor->shape), kInSixteenBits));
  }
  const std::vector<std::uint8_t> bytes = checkpoint.read(tensor->name);
  const auto value = static_cast<float>(float_element(tensor->type, bytes.data(), 0));
  if (!(value >= kSmallest && value < kLargest)) {
    refuse_layer(part, fmt::format("the tensor {} is {}, and a scale is from 2^-126 to below "
                                   "2^126{}",
                                   tensor->name, value, kInSixteenBits));
  }
  return value;
}

// The config says symmetric.
void check_zero_point(const Checkpoint& checkpoint, const std::string& part) {
  const TensorInfo* const tensor = checkpoint.find(part + kZeroPoint);
  if (tensor == nullptr) return;
  const std::vector<std::uint8_t> bytes = checkpoint.read(tensor->name);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; })) return;
  refuse_layer(part, fmt::format("the config says that activations are symmetric, but the tensor "
                                 "{} is not zero{}",
                                 tensor->name, kInSixteenBits));
}

}  // namespace

float read_input_scale(const Checkpoint& checkpoint, const LayerGroup& group) {
  float largest = 0;
  for (const LayerName& part : group.parts) {
    check_zero_point(checkpoint, part.name);
    largest = std::max(largest, scale_of_part(checkpoint, part.name));
  }
  return largest;
}

std::vector<std::string> input_scale_tensors(const Checkpoint& checkpoint,
                                             const LayerGroup& group) {
  std::vector<std::string> names;
  for (const LayerName& part : group.parts) {
    for (const char* suffix : {kInputScale, kTransformersScale, kZeroPoint}) {
      std::string name = part.name + suffix;
      if (checkpoint.find(name) != nullptr) names.push_back(std::move(name));
    }
  }
  return names;
}

MadeTensor made_input_scale(const std::string& layer, float scale) {
  MadeTensor made;
  made.info.name = layer + kInputScale;
  made.info.type = TensorType::kF32;
  made.info.shape = {1};
  made.info.bytes = sizeof scale;
  made.make = [scale](ByteStream* out) { out->write(&scale, sizeof scale); };
  return made;
}

}  // namespace heddle
