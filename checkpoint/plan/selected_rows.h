// SelectedRows: some rows of a layer, in an order of their own.
#ifndef HEDDLE_CHECKPOINT_PLAN_SELECTED_ROWS_H_
#define HEDDLE_CHECKPOINT_PLAN_SELECTED_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/forms/quantized_rows.h"

namespace heddle {

// Rows first .. first + count - 1 of each matrix.
struct RowRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const RowRun&) const = default;
};

// Immutable: any thread may call it.
class SelectedRows final : public QuantizedRows {
 public:
  // The runs' rows, one run after the other. Precondition: they are rows of `layer`.
  SelectedRows(std::unique_ptr<QuantizedRows> layer, std::vector<RowRun> runs);

  WeightSpec weight() const override { return layer_->weight(); }
  float tensor_scale() const override { return layer_->tensor_scale(); }
  const std::vector<std::int32_t>& group_index() const override { return layer_->group_index(); }
  bool is_in_blocks() const override;
  DType native_dtype() const override { return layer_->native_dtype(); }
  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  // Calls each(row of layer_, number of rows, rows before them) for runs that cover the rows.
  template <class Each>
  void for_runs(std::int64_t first, std::int64_t count, const Each& each) const;

  std::unique_ptr<QuantizedRows> layer_;
  std::vector<RowRun> runs_;
  std::vector<std::int64_t> ends_;  // rows up to the end of each run, in this order
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_SELECTED_ROWS_H_
