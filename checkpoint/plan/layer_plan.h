// LayerPlan: the kernels' layers that a checkpoint is packed into, found before anything is
// written. heddle repack writes what it says, heddle build compiles the kernels for it.
#ifndef HEDDLE_CHECKPOINT_PLAN_LAYER_PLAN_H_
#define HEDDLE_CHECKPOINT_PLAN_LAYER_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/companions.h"
#include "checkpoint/plan/expected_layers.h"
#include "checkpoint/plan/expert_order.h"
#include "checkpoint/plan/expert_sets.h"
#include "checkpoint/plan/fused_layer.h"
#include "checkpoint/plan/inventory.h"
#include "checkpoint/plan/layer_view.h"
#include "checkpoint/plan/unconverted.h"
#include "heddle/checkpoint.h"
#include "heddle/spec.h"

namespace heddle {

// What a kernel takes of the checkpoint at once.
struct PackedLayer {
  LayerGroup group;
  Spec spec;                              // of one matrix
  std::int64_t matrices = 1;              // experts, of the rank
  std::vector<std::int64_t> heights;      // rows of a matrix of each part
  std::vector<std::int32_t> permutation;  // FusedLayer::permutation(); of experts read when packed
  std::optional<Companions> companions;   // none where the layer is packed already
  std::optional<float> input_scale{};     // of activations whose scale is static
  // Of a product of experts: the tensors of each that is packed, and what they have instead of
  // companions.
  std::vector<LayerGroup> experts{};
  std::int64_t model_experts = 0;
  ExpertOrder order{};
  TensorScales tensor_scales = TensorScales::kOne;
  std::vector<std::string> expert_tensors{};  // codes, scales and biases of all
  std::optional<MadeTensor> expert_bias{};
};

struct LayerPlan {
  std::vector<PackedLayer> packed;         // ascending by name
  std::vector<CheckpointExperts> experts;  // ascending by name; their products are among `packed`
  std::vector<UnservedLayer> unserved;
  Inventory inventory;
  std::vector<MissingLayer> missing;  // of PackOptions::dense
  std::vector<std::string> notes;     // what stayed apart, and other things a user should know
};

// What is packed: all of a model, or what one of several ranks has of it.
struct PackOptions {
  bool fuse = true;
  TensorChoice choice;
  TensorParallel parallel;
  bool gated = false;  // this and those below as in CheckpointOptions
  bool dense = false;
  int lm_head_bits = 0;
  ExpertParallel expert_parallel = {};

  // Experts that ranks share are whole.
  TensorParallel parallel_of_experts() const {
    return expert_parallel.size > 1 ? TensorParallel() : parallel;
  }
};

// The last component of the layer's name as the label of a spec, which has fewer characters.
std::string label_of(const std::string& layer);

// Throws Error(kUnsupported, "checkpoint.not_converted") that names every tensor which looks
// quantised and is not understood, and every layer whose tensors contradict each other or the
// config, Error(kUnsupported, "model.activation") for layers that cannot be gated, Error(kUsage,
// "checkpoint.gated") for gated without fused layers, Error(kUsage, "checkpoint.experts") where
// ranks share experts that are not packed together, and as PlainLayers does. Reads no codes, only
// what specs depend on: zero points, the order of columns and biases. The checkpoint must outlive
// the plan.
LayerPlan plan_layers(const Checkpoint& checkpoint, const CheckpointConfig& config,
                      const PackOptions& options);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_LAYER_PLAN_H_
