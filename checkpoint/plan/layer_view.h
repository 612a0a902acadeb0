// LayerView: which rows and columns of a layer are packed, and in which order.
#ifndef HEDDLE_CHECKPOINT_PLAN_LAYER_VIEW_H_
#define HEDDLE_CHECKPOINT_PLAN_LAYER_VIEW_H_

#include <memory>
#include <vector>

#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/plan/selected_columns.h"
#include "checkpoint/plan/selected_rows.h"

namespace heddle {

struct LayerView {
  // Selections that follow each other: each is of the rows that the one before gives.
  std::vector<std::vector<RowRun>> rows;
  ColumnRun columns;  // count 0: all
  // Whether this rank adds the bias: of a layer that is split along K only rank 0 does.
  bool has_bias = true;
  // The layer is not one of those that are split.
  bool is_whole = false;

  bool is_changed() const { return !rows.empty() || columns.count != 0 || !has_bias; }
};

// The rows and columns of the view. The layer has its data or none, as `layer`.
std::unique_ptr<QuantizedRows> viewed_rows(const LayerView& view,
                                           std::unique_ptr<QuantizedRows> layer);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_LAYER_VIEW_H_
