// QuantizingRows: weights of 16 bits that become codes when they are read.
#ifndef HEDDLE_CHECKPOINT_FORMS_QUANTIZING_ROWS_H_
#define HEDDLE_CHECKPOINT_FORMS_QUANTIZING_ROWS_H_

#include <memory>
#include <mutex>

#include "checkpoint/forms/quantized_rows.h"
#include "heddle/weights.h"

namespace heddle {

// The codes, scales and zero points of quantize_weights(). A group lies inside of a row, so some
// rows are quantised alone, and no more of the matrix is ever in memory. Any thread may call it.
class QuantizingRows final : public QuantizedRows {
 public:
  // Preconditions: `source` is one matrix of 16 bits; `weight` has integer codes, scales of 16 bits
  // and groups that divide K.
  QuantizingRows(std::unique_ptr<QuantizedRows> source, const WeightSpec& weight);

  WeightSpec weight() const override { return weight_; }
  DType native_dtype() const override { return source_->native_dtype(); }
  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  // Calls use(weights, row) where `weights` has the rows, from its row `row` on.
  template <class Use>
  void with_rows(std::int64_t first, std::int64_t count, const Use& use) const;
  QuantizedWeights quantized(std::int64_t first, std::int64_t count) const;

  std::unique_ptr<QuantizedRows> source_;
  WeightSpec weight_;
  // The rows that were quantised last: codes, scales and zero points of a panel are asked for one
  // by one, and panels follow each other.
  mutable std::mutex mutex_;
  mutable std::int64_t first_ = 0;
  mutable std::int64_t count_ = 0;
  mutable QuantizedWeights last_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_QUANTIZING_ROWS_H_
