// LayerActivations: in which form the kernels of a checkpoint's layers take their activations.
#ifndef HEDDLE_CHECKPOINT_PLAN_LAYER_ACTIVATIONS_H_
#define HEDDLE_CHECKPOINT_PLAN_LAYER_ACTIVATIONS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/fused_layer.h"
#include "heddle/checkpoint.h"
#include "heddle/spec.h"

namespace heddle {

class LayerActivations {
 public:
  // All outlive it.
  LayerActivations(const Checkpoint& checkpoint, const CheckpointConfig& config,
                   const TensorParallel& parallel)
      : checkpoint_(checkpoint), config_(config), parallel_(parallel) {}

  // Why the parts cannot be one layer: one kernel takes X in one form. Empty where they can.
  std::string why_apart(const LayerGroup& group) const;

  // Gives `gemm`, the layer's spec, what the config says of activations, and returns the static
  // scale, where there is one. A layer that no such kernel takes, on whichever of the ranks, keeps
  // 16 bits, which is remembered. Throws as read_input_scale().
  std::optional<float> apply(const LayerGroup& group, const FusedLayer& layer, GemmSpec* gemm);

  // The layer takes 16 bits for this reason, whatever the config says.
  void take_sixteen_bits(const LayerGroup& group, const std::string& why);

  void add_notes(std::vector<std::string>* notes) const;

 private:
  const ActivationScheme* scheme_of(const LayerName& layer) const;
  std::string why_not(const LayerGroup& group, const ActivationScheme& scheme,
                      const FusedLayer& layer, GemmSpec* gemm) const;

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  const TensorParallel& parallel_;
  // Why layers keep 16 bits, with the first such layer and how many there are.
  std::map<std::string, std::pair<std::string, int>> sixteen_bits_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_LAYER_ACTIVATIONS_H_
