// How the layers of a model are split over several ranks.
#ifndef HEDDLE_CHECKPOINT_PLAN_TENSOR_PARALLEL_H_
#define HEDDLE_CHECKPOINT_PLAN_TENSOR_PARALLEL_H_

#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/layer_view.h"
#include "heddle/checkpoint.h"

namespace heddle {

// Adds to `view`, which has the layer's rows in the order of attention, what of them the rank has.
// Throws Error(kUnsupported, "checkpoint.layer") for a model type whose split is not known and for
// rows, heads or columns that cannot be split so.
void split(const QuantizedRows& layer, const CheckpointConfig& config,
           const TensorParallel& parallel, LayerView* view);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_TENSOR_PARALLEL_H_
