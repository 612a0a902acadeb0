// What act-order makes of experts. Columns of each matrix are packed by their groups. Those of a
// first product meet X in that order, which launches are told. Those of a second product meet what
// the first one makes: rows of the first are packed in the order of the second one's columns.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_ORDER_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/selected_rows.h"

namespace heddle {

// Of one product.
struct ExpertOrder {
  bool sorts_columns = false;  // of any expert
  // Of a first product whose second one sorts its columns: the second matrix of each expert.
  std::vector<LayerGroup> rows_as{};
};

// Rows of a part of a first product, gates or ups or all gates and then all ups, in the order of
// the columns of the second one. `name`: of the part. Throws as refuse_layer() where there are
// other rows than columns.
std::vector<RowRun> ordered_rows(const std::string& name, std::int64_t rows,
                                 const std::vector<std::int32_t>& order);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_ORDER_H_
