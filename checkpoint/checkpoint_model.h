// The kernels that a checkpoint needs, learned from its tensors.
#ifndef HEDDLE_CHECKPOINT_CHECKPOINT_MODEL_H_
#define HEDDLE_CHECKPOINT_CHECKPOINT_MODEL_H_

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/output/packed_checkpoint.h"
#include "checkpoint/plan/layer_plan.h"
#include "heddle/model.h"

namespace heddle {

// ModelLayer::weights of a layer that the config has and the tensors do not.
inline constexpr const char* kMissingWeights = "missing";

// Exactly the specs that repack_checkpoint() writes into its metadata, each once, in the order of
// the layers' names; where a layer takes activations of eight bits also Model::rows. A kernel's
// name is the last component of the first such layer's. Throws as plan_layers() does,
// Error(kUnsupported, "checkpoint.not_quantised") without a quantised layer.
Model model_of_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                          const PackOptions& options = {});
// As above, of a file that repack_checkpoint() wrote, as read_packed_checkpoint() has it. `config`
// may be empty; the facts that it has are used.
Model model_of_packed(const Checkpoint& checkpoint, const CheckpointConfig& config,
                      PackedCheckpoint packed);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CHECKPOINT_MODEL_H_
