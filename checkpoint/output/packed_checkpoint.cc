#include "checkpoint/output/packed_checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint/output/output_plan.h"
#include "checkpoint/output/pack_layer.h"
#include "checkpoint/plan/input_scale.h"

namespace heddle {
namespace {

// The layer has it, so it is none of the others.
void consume(const std::optional<MadeTensor>& companion, std::vector<std::string>* consumed) {
  if (companion.has_value() && companion->is_copy) consumed->push_back(companion->info.name);
}

}  // namespace

PackedCheckpoint packed_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                   const PackOptions& options) {
  LayerPlan plan = plan_layers(checkpoint, config, options);
  PackedCheckpoint packed;
  std::vector<std::string> consumed(plan.inventory.skipped.begin(), plan.inventory.skipped.end());
  for (PackedLayer& layer : plan.packed) {
    if (!layer.experts.empty()) {
      consumed.insert(consumed.end(), layer.expert_tensors.begin(), layer.expert_tensors.end());
      const TensorParallel parallel = options.parallel_of_experts();
      MadeTensor weights = packed_weights(checkpoint, config, parallel, layer);
      std::optional<MadeTensor> permutation =
          packed_permutation(checkpoint, config, parallel, layer);
      std::optional<MadeTensor> bias = std::move(layer.expert_bias);
      packed.layers.push_back(
          {std::move(layer), std::move(weights), std::move(permutation), std::move(bias), {}, {}});
      continue;
    }
    for (const LayerName& part : layer.group.parts) {
      if (!part.shared_module.empty()) continue;  // another module has it, too
      for (std::string& name : tensors_of(part, checkpoint)) consumed.push_back(std::move(name));
    }
    for (std::string& name : layer.companions->replaced()) consumed.push_back(std::move(name));
    MadeTensor weights = packed_weights(checkpoint, config, options.parallel, layer);
    std::optional<MadeTensor> permutation =
        packed_permutation(checkpoint, config, options.parallel, layer);
    std::optional<MadeTensor> bias = layer.companions->bias();
    std::optional<MadeTensor> pre_scale = layer.companions->pre_scale();
    consume(bias, &consumed);
    consume(pre_scale, &consumed);
    std::optional<MadeTensor> input_scale;
    if (layer.input_scale) {
      input_scale = made_input_scale(layer.group.name, *layer.input_scale);
      for (std::string& name : input_scale_tensors(checkpoint, layer.group)) {
        consumed.push_back(std::move(name));
      }
    }
    packed.layers.push_back({std::move(layer), std::move(weights), std::move(permutation),
                             std::move(bias), std::move(pre_scale), std::move(input_scale)});
  }
  packed.experts = std::move(plan.experts);
  packed.others = copies_of_others(checkpoint, consumed);
  packed.unserved = std::move(plan.unserved);
  std::sort(packed.unserved.begin(), packed.unserved.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  packed.notes = std::move(plan.notes);
  packed.skipped = plan.inventory.skipped.size();
  packed.kept = plan.inventory.kept;
  packed.dense = options.dense;
  packed.rotates = config.quantization.rotates();
  return packed;
}

void expect_quantised(const PackedCheckpoint& packed, const PackOptions& options) {
  if (packed.layers.empty() && packed.unserved.empty() && packed.kept == 0) {
    refuse_plain_checkpoint(options);
  }
}

}  // namespace heddle
