// The tensors that a layer is packed into.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_PACK_LAYER_H_
#define HEDDLE_CHECKPOINT_OUTPUT_PACK_LAYER_H_

#include <optional>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/layer_plan.h"
#include "checkpoint/plan/made_tensor.h"

namespace heddle {

// <layer>.heddle U8: pack_weights() of the layer; of experts [E, bytes], each on its own. Making it
// reads the layer's codes, and throws Error(kFile, "checkpoint.changed") where the files no longer
// hold the layer that was planned. Checkpoint and config must outlive it.
MadeTensor packed_weights(const Checkpoint& checkpoint, const CheckpointConfig& config,
                          const TensorParallel& parallel, const PackedLayer& planned);

// <layer>.heddle_perm I32 [K], of experts [E, K]; nothing without act-order. As packed_weights().
std::optional<MadeTensor> packed_permutation(const Checkpoint& checkpoint,
                                             const CheckpointConfig& config,
                                             const TensorParallel& parallel,
                                             const PackedLayer& planned);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_PACK_LAYER_H_
