#include "checkpoint/checkpoint_model.h"

#include <map>
#include <utility>

#include "checkpoint/layer_error.h"
#include "checkpoint/output_plan.h"

namespace heddle {
namespace {

std::string covers(const LayerGroup& group) {
  std::string names;
  for (const LayerName& part : group.parts)
    names += (names.empty() ? "" : " + ") + leaf_of_layer(part.name);
  return names;
}

}  // namespace

Model model_of_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                          const PackOptions& options) {
  LayerPlan plan = plan_layers(checkpoint, config, options);
  if (plan.packed.empty() && plan.unserved.empty() && plan.inventory.kept == 0)
    refuse_plain_checkpoint();
  Model model;
  model.model_type = config.model_type;
  model.quant_method = config.quantization.method();
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // name and spec to its kernel
  for (const PackedLayer& packed : plan.packed) {
    const auto [place, is_new] =
        known.try_emplace({packed.spec.name(), packed.spec.canonical_json()}, model.kernels.size());
    if (is_new) model.kernels.push_back({packed.spec, 0, covers(packed.group)});
    ++model.kernels[place->second].layers;
  }
  std::map<std::pair<std::string, std::string>, std::size_t> unserved;
  for (const UnservedLayer& layer : plan.unserved) {
    const auto [place, is_new] =
        unserved.try_emplace({leaf_of_layer(layer.name), layer.reason}, model.unserved.size());
    if (is_new) model.unserved.push_back({leaf_of_layer(layer.name), layer.reason, 0});
    ++model.unserved[place->second].layers;
  }
  model.notes = std::move(plan.notes);
  return model;
}

}  // namespace heddle
