// LayerView: which rows and columns of a layer are packed, and in which order.
#ifndef HEDDLE_CHECKPOINT_LAYER_VIEW_H_
#define HEDDLE_CHECKPOINT_LAYER_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/quantized_rows.h"
#include "checkpoint/selected_rows.h"
#include "heddle/checkpoint.h"

namespace heddle {

struct ColumnRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

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

// Rows of a fused query, key and value matrix are put in the order that attention wants, all
// queries, then all keys, then all values. Where there are several ranks the rank's part is
// selected. Throws Error(kUnsupported, "checkpoint.layer") where the rows are no whole number of
// heads, and for a layer that cannot be split so.
LayerView view_of(const QuantizedRows& layer, const CheckpointConfig& config,
                  const TensorParallel& parallel);

// The rows and columns of the view. The layer has its data or none, as `layer`.
std::unique_ptr<QuantizedRows> viewed_rows(const LayerView& view,
                                           std::unique_ptr<QuantizedRows> layer);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_LAYER_VIEW_H_
