// How the layers of a model are split over several ranks.
#ifndef HEDDLE_CHECKPOINT_TENSOR_PARALLEL_H_
#define HEDDLE_CHECKPOINT_TENSOR_PARALLEL_H_

#include "checkpoint/config.h"
#include "checkpoint/layer_view.h"
#include "checkpoint/quantized_rows.h"

namespace heddle {

// Adds to `view`, which has the layer's rows in the order of attention, what of them the rank has.
// Throws Error(kUnsupported, "checkpoint.layer") for a model type whose split is not known and for
// rows, heads or columns that cannot be split so.
void split(const QuantizedRows& layer, const CheckpointConfig& config,
           const TensorParallel& parallel, LayerView* view);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_TENSOR_PARALLEL_H_
