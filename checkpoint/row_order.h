// The order in which a layer's rows are packed, where it is not that of the checkpoint.
#ifndef HEDDLE_CHECKPOINT_ROW_ORDER_H_
#define HEDDLE_CHECKPOINT_ROW_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/selected_rows.h"

namespace heddle {

// The rows of a fused query, key and value matrix as attention wants them, all queries, then all
// keys, then all values; the checkpoint has them group by group, [groups, queries + 2, head_dim].
// Empty for every other layer, whose rows stay as they are. Throws Error(kUnsupported,
// "checkpoint.layer") where the rows are no whole number of heads.
std::vector<RowRun> row_order(const std::string& layer, std::int64_t n,
                              const CheckpointConfig& config);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_ROW_ORDER_H_
