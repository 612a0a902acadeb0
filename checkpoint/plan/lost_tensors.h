// What a checkpoint lacks of layers of which it has the rest, so that they would compute something
// else without it: biases, sinks of attention, all experts of a layer.
#ifndef HEDDLE_CHECKPOINT_PLAN_LOST_TENSORS_H_
#define HEDDLE_CHECKPOINT_PLAN_LOST_TENSORS_H_

#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/inventory.h"
#include "checkpoint/plan/missing_layer.h"

namespace heddle {

// A bias counts as lost where the config says that the module has one, or where the same module of
// another layer has one that is not all zeros: quantisers write zeros for none. Modules that the
// user keeps or skips are not judged. Without a decoder nothing is.
std::vector<UnknownTensors> lost_vectors(const Checkpoint& checkpoint,
                                         const CheckpointConfig& config,
                                         const Inventory& inventory);

// Of `missing`, the experts that the user did not leave out: the checkpoint is not one shard of
// several, and no tensor of their layer is skipped.
std::vector<UnknownTensors> lost_experts(const Checkpoint& checkpoint, const Inventory& inventory,
                                         const std::vector<MissingLayer>& missing);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_LOST_TENSORS_H_
