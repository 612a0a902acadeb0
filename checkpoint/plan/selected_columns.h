// SelectedColumns: a run of columns of a layer, which may begin and end inside of a group of
// scales.
#ifndef HEDDLE_CHECKPOINT_PLAN_SELECTED_COLUMNS_H_
#define HEDDLE_CHECKPOINT_PLAN_SELECTED_COLUMNS_H_

#include <cstdint>
#include <memory>

#include "checkpoint/forms/quantized_rows.h"

namespace heddle {

struct ColumnRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Columns of a shard come in whole steps of the packed layout.
inline constexpr std::int64_t kColumnStep = 32;

// Immutable: any thread may call it.
class SelectedColumns final : public QuantizedRows {
 public:
  // Precondition: columns of `layer`, whose groups are in order.
  SelectedColumns(std::unique_ptr<QuantizedRows> layer, ColumnRun columns);

  // With the group_offset at which the run begins.
  WeightSpec weight() const override;
  float tensor_scale() const override { return layer_->tensor_scale(); }
  // Its first block may be cut, which group_offset tells.
  bool is_in_blocks() const override { return layer_->is_in_blocks(); }
  DType native_dtype() const override { return layer_->native_dtype(); }
  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  std::int64_t first_group() const;

  std::unique_ptr<QuantizedRows> layer_;
  ColumnRun columns_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_SELECTED_COLUMNS_H_
