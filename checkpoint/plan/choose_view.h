// Which rows and columns of a layer are packed.
#ifndef HEDDLE_CHECKPOINT_PLAN_CHOOSE_VIEW_H_
#define HEDDLE_CHECKPOINT_PLAN_CHOOSE_VIEW_H_

#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/layer_view.h"
#include "heddle/checkpoint.h"

namespace heddle {

// Rows of a fused query, key and value matrix are put in the order that attention wants, all
// queries, then all keys, then all values. Where there are several ranks the rank's part is
// selected. Throws Error(kUnsupported, "checkpoint.layer") where the rows are no whole number of
// heads, and for a layer that cannot be split so.
LayerView view_of(const QuantizedRows& layer, const CheckpointConfig& config,
                  const TensorParallel& parallel);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_CHOOSE_VIEW_H_
