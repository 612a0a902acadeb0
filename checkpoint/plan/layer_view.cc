#include "checkpoint/plan/layer_view.h"

#include <utility>

namespace heddle {

std::unique_ptr<QuantizedRows> viewed_rows(const LayerView& view,
                                           std::unique_ptr<QuantizedRows> layer) {
  for (const std::vector<RowRun>& runs : view.rows) {
    layer = std::make_unique<SelectedRows>(std::move(layer), runs);
  }
  if (view.columns.count == 0) return layer;
  return std::make_unique<SelectedColumns>(std::move(layer), view.columns);
}

}  // namespace heddle
