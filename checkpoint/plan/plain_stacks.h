// Stacks of experts that were not quantised.
#ifndef HEDDLE_CHECKPOINT_PLAN_PLAIN_STACKS_H_
#define HEDDLE_CHECKPOINT_PLAN_PLAIN_STACKS_H_

#include <optional>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"

namespace heddle {

// The module that has the stack, if the tensor is a stack of experts of 16 bits as Transformers
// stores them: <experts>.gate_up_proj [E, N, K], or [E, K, N] with LayerName::transposed.
// In a layer without experts by the config nothing tells how it lies: take_expert_sets() and
// take_denied_stacks() have the fault. Precondition: config.decoder.
std::optional<LayerName> plain_stack(const TensorInfo& tensor, const Checkpoint& checkpoint,
                                     const CheckpointConfig& config);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_PLAIN_STACKS_H_
