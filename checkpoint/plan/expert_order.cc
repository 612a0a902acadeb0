#include "checkpoint/plan/expert_order.h"

#include <fmt/format.h>

#include "checkpoint/modules/layer_error.h"

namespace heddle {

std::vector<RowRun> ordered_rows(const std::string& name, std::int64_t rows,
                                 const std::vector<std::int32_t>& order) {
  const std::int64_t columns = std::ssize(order);
  if (rows != columns && rows != 2 * columns) {
    refuse_layer(name, fmt::format("its {} rows are not those of the {} columns of the second "
                                   "product, which are out of order (act-order)",
                                   rows, columns));
  }
  std::vector<RowRun> runs;
  for (std::int64_t half = 0; half < rows; half += columns) {
    for (const std::int32_t column : order) runs.push_back({half + column, 1});
  }
  return runs;
}

}  // namespace heddle
