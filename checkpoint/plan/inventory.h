// Inventory: what every tensor of a checkpoint is, before anything is read or written.
#ifndef HEDDLE_CHECKPOINT_PLAN_INVENTORY_H_
#define HEDDLE_CHECKPOINT_PLAN_INVENTORY_H_

#include <set>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/plain_layers.h"
#include "heddle/checkpoint.h"

namespace heddle {

// A tensor that looks quantised and that no layer is made of.
struct UnknownTensors {
  std::string name;    // of the module, else of the tensor
  std::string reason;  // what it looks like, and what is missing
};

struct Inventory {
  // To convert, whatever their roles are (module_roles.h); ascending by name.
  std::vector<LayerName> layers;
  std::vector<UnknownTensors> unknown;
  std::set<std::string> skipped;  // tensors
  std::set<std::string> chosen;   // tensors that are skipped or left as they are on request
  std::size_t kept = 0;           // quantised layers that are left as they are on request
};

// What the quantisation cannot read of a layer is not judged here. `plain`: which layers that were
// not quantised are converted, too; null: none. A head that shares its weights is chosen by the
// name that its own would have. Throws Error(kUsage, "checkpoint.choice") for a pattern that names
// no tensor, a part of a layer alone, or a head that is to be quantised.
Inventory take_inventory(const Checkpoint& checkpoint, const CheckpointConfig& config,
                         const TensorChoice& choice, const PlainLayers* plain = nullptr);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_INVENTORY_H_
