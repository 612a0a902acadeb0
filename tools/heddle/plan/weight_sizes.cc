#include "tools/heddle/plan/weight_sizes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint/files/tensor.h"
#include "checkpoint/modules/layer_error.h"
#include "checkpoint/output/output_plan.h"
#include "generator/model/model_builder.h"

namespace heddle {
namespace {

std::size_t size_of(const MadeTensor& tensor) {
  const std::optional<std::uint64_t> bytes = tensor_bytes(tensor.info.type, tensor.info.shape);
  if (!bytes) refuse_collision(tensor.info.name);
  return static_cast<std::size_t>(*bytes);
}

std::size_t size_of(const PackedLayerTensors& tensors) {
  std::size_t bytes = size_of(tensors.weights);
  for (const std::optional<MadeTensor>* beside :
       {&tensors.permutation, &tensors.bias, &tensors.pre_scale, &tensors.input_scale}) {
    if (beside->has_value()) bytes += size_of(**beside);
  }
  return bytes;
}

// "input_layernorm" of "model.layers.0.input_layernorm.weight"; of others with the last component,
// "q_proj.qweight".
std::string label_of_tensor(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight)) return leaf_of_layer(name.substr(0, name.size() - kWeight.size()));
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  return leaf_of_layer(name.substr(0, dot)) + std::string(name.substr(dot));
}

void add_alike(ModelWeightSize one, std::vector<ModelWeightSize>* all) {
  auto at = std::find_if(all->begin(), all->end(), [&](const ModelWeightSize& other) {
    return other.name == one.name && other.weights == one.weights && other.packed == one.packed &&
           other.each == one.each;
  });
  if (at == all->end()) at = all->insert(at, std::move(one));
  ++at->count;
  at->bytes += at->each;
}

}  // namespace

std::vector<ModelWeightSize> weight_sizes(const PackedCheckpoint& packed) {
  std::vector<ModelWeightSize> sizes;
  for (const PackedLayerTensors& tensors : packed.layers) {
    const PackedLayer& layer = tensors.layer;
    std::string name = layer.spec.name();
    if (layer.matrices > 1) name += " of " + std::to_string(layer.matrices) + " experts";
    add_alike({std::move(name), weights_text(layer.spec.weight()), true, 0, size_of(tensors), 0},
              &sizes);
  }
  for (const MadeTensor& tensor : packed.others) {
    add_alike({label_of_tensor(tensor.info.name), std::string(to_string(tensor.info.type)), false,
               0, size_of(tensor), 0},
              &sizes);
  }
  return sizes;
}

}  // namespace heddle
