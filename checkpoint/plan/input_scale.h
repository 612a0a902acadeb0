// The static scale of a layer's activations, which some quantisers store beside its weights.
#ifndef HEDDLE_CHECKPOINT_PLAN_INPUT_SCALE_H_
#define HEDDLE_CHECKPOINT_PLAN_INPUT_SCALE_H_

#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/made_tensor.h"

namespace heddle {

// The largest <part>.input_scale (Transformers: activation_scale), so that no part's activations
// are clipped: X of eight bits is the same for all parts. Throws Error(kUnsupported,
// "checkpoint.layer") where a part has none, or one that row_transform does not take, and for an
// <part>.input_zero_point that is not zero.
float read_input_scale(const Checkpoint& checkpoint, const LayerGroup& group);

// The parts' tensors that the layer's own scale takes the place of.
std::vector<std::string> input_scale_tensors(const Checkpoint& checkpoint, const LayerGroup& group);

// <layer>.input_scale F32 [1].
MadeTensor made_input_scale(const std::string& layer, float scale);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_INPUT_SCALE_H_
