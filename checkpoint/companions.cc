#include "checkpoint/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.fuse",
              fmt::format("layer \"{}\": {}; --no-fuse keeps the parts apart", name, why));
}

std::string bias_of(const std::string& layer, LayerName::Kind kind) {
  return layer + (kind == LayerName::Kind::kMxfp4Experts ? "_bias" : ".bias");
}

std::string pre_scale_of(const std::string& layer) { return layer + ".pre_quant_scale"; }

void check_size(const std::string& layer, const TensorInfo& tensor, std::int64_t want) {
  const std::uint64_t elements = tensor.bytes / static_cast<unsigned>(bytes_of(tensor.type));
  if (elements == static_cast<std::uint64_t>(want)) return;
  throw Error(ErrorCategory::kFile, "checkpoint.layer",
              fmt::format("layer \"{}\": the tensor {} is {}, expected {} values", layer,
                          tensor.name, describe(tensor.type, tensor.shape), want));
}

void clear_if_none(std::vector<const TensorInfo*>& tensors) {
  if (std::count(tensors.begin(), tensors.end(), nullptr) == std::ssize(tensors)) tensors.clear();
}

}  // namespace

Companions::Companions(const Checkpoint& checkpoint, const LayerGroup& group,
                       const FusedLayer& layer)
    : checkpoint_(checkpoint),
      bias_name_(bias_of(group.name, group.parts.front().kind)),
      pre_scale_name_(pre_scale_of(group.name)),
      heights_(layer.heights()),
      matrices_(layer.matrices()) {
  for (const LayerName& part : group.parts) {
    biases_.push_back(checkpoint.find(bias_of(part.name, part.kind)));
    pre_scales_.push_back(checkpoint.find(pre_scale_of(part.name)));
  }
  clear_if_none(biases_);
  clear_if_none(pre_scales_);
  check_biases(group, layer);
  check_pre_scales(group, layer);
}

void Companions::check_biases(const LayerGroup& group, const FusedLayer& layer) const {
  const TensorInfo* first = nullptr;
  for (std::size_t i = 0; i < biases_.size(); ++i) {
    if (biases_[i] == nullptr) continue;
    check_size(group.parts[i].name, *biases_[i], matrices_ * heights_[i]);
    if (first == nullptr) first = biases_[i];
    if (biases_[i]->type != first->type) refuse(layer.name(), "the types of the biases differ");
  }
}

void Companions::check_pre_scales(const LayerGroup& group, const FusedLayer& layer) const {
  for (std::size_t i = 0; i < pre_scales_.size(); ++i) {
    const TensorInfo* scale = pre_scales_[i];
    if (scale != nullptr) check_size(group.parts[i].name, *scale, layer.spec().shape.k);
    if (i == 0) continue;
    const TensorInfo* first = pre_scales_.front();
    if (scale == nullptr || first == nullptr || scale->type != first->type ||
        checkpoint_.read(scale->name) != checkpoint_.read(first->name)) {
      refuse(layer.name(), "the parts do not have the same pre_quant_scale");
    }
  }
}

std::vector<std::string> Companions::replaced() const {
  std::vector<std::string> names;
  if (heights_.size() == 1) return names;
  for (const auto* tensors : {&biases_, &pre_scales_}) {
    for (const TensorInfo* tensor : *tensors) {
      if (tensor != nullptr) names.push_back(tensor->name);
    }
  }
  return names;
}

void Companions::add_to(OutputPlan* plan) const {
  if (heights_.size() == 1) return;
  if (has_pre_scale()) {
    TensorInfo tensor = *pre_scales_.front();
    const std::string from = std::exchange(tensor.name, pre_scale_name_);
    plan->add(tensor.name, {tensor},
              [&checkpoint = checkpoint_, from](const SafetensorsWriter& writer, std::size_t to) {
                const std::vector<std::uint8_t> bytes = checkpoint.read(from);
                writer.write(to, 0, bytes.data(), bytes.size());
              });
  }
  if (!has_bias()) return;
  const TensorInfo& some = **std::find_if(biases_.begin(), biases_.end(),
                                          [](const TensorInfo* bias) { return bias != nullptr; });
  const std::int64_t n = std::accumulate(heights_.begin(), heights_.end(), std::int64_t{0});
  TensorInfo tensor;
  tensor.name = bias_name_;
  tensor.type = some.type;
  tensor.shape = matrices_ == 1 ? std::vector{n} : std::vector{matrices_, n};
  const auto bytes = static_cast<std::size_t>(bytes_of(some.type));
  plan->add(
      tensor.name, {tensor},
      [copy = *this, n, bytes](const SafetensorsWriter& writer, std::size_t to) {
        std::vector<std::uint8_t> joined(static_cast<std::size_t>(copy.matrices_ * n) * bytes);
        std::size_t start = 0;
        for (std::size_t i = 0; i < copy.biases_.size(); ++i) {
          const std::size_t run = static_cast<std::size_t>(copy.heights_[i]) * bytes;
          if (copy.biases_[i] != nullptr) {
            const std::vector<std::uint8_t> part = copy.checkpoint_.read(copy.biases_[i]->name);
            for (std::size_t m = 0; m * run < part.size(); ++m) {
              std::copy_n(&part[m * run], run,
                          &joined[m * static_cast<std::size_t>(n) * bytes + start]);
            }
          }
          start += run;
        }
        writer.write(to, 0, joined.data(), joined.size());
      });
}

}  // namespace heddle
