// Reads the parts of a layer that a kernel takes at once, as they are packed.
#ifndef HEDDLE_CHECKPOINT_PLAN_READ_GROUP_H_
#define HEDDLE_CHECKPOINT_PLAN_READ_GROUP_H_

#include <cstdint>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/fused_layer.h"
#include "checkpoint/plan/layer_view.h"
#include "heddle/checkpoint.h"

namespace heddle {

// The parts of a group, and what of them is packed.
struct ViewedParts {
  FusedLayer::Parts parts;
  std::vector<LayerView> views;
  std::vector<std::int64_t> plain_heights;  // rows in the checkpoint
  std::int64_t plain_k = 0;
  bool is_convolution = false;
};

// `rows`: of a first product of experts, ordered_rows() of every part; empty: as they are.
ViewedParts read_parts(const Checkpoint& checkpoint, const LayerGroup& group,
                       const CheckpointConfig& config, const TensorParallel& parallel, Load load,
                       const std::vector<std::int32_t>& rows = {});

// The layer as it is packed. `load` as for read_layer().
FusedLayer read_group(const Checkpoint& checkpoint, const LayerGroup& group,
                      const CheckpointConfig& config, const TensorParallel& parallel, Load load,
                      TensorScales tensor_scales = TensorScales::kOne,
                      const std::vector<std::int32_t>& rows = {});

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_READ_GROUP_H_
