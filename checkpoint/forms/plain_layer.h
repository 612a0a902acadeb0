// PlainLayer: a layer of 16 bits that was not quantised, as the checkpoint has it.
#ifndef HEDDLE_CHECKPOINT_FORMS_PLAIN_LAYER_H_
#define HEDDLE_CHECKPOINT_FORMS_PLAIN_LAYER_H_

#include <string>

#include "checkpoint/codes/large_buffer.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/quantized_rows.h"

namespace heddle {

// Its codes are the tensor's own bytes, which never become another type on their way. Rows are read
// when they are asked for, so that the largest head takes no more memory than a panel of it.
// Immutable: any thread may call it.
class PlainLayer final : public QuantizedRows {
 public:
  enum class Order {
    kRows,     // [N, K]
    kColumns,  // [K, N]: GPT-2's Conv1D. The matrix is held as a whole, since a row is all over it
  };

  // Preconditions: a tensor of F16 or BF16 with two sides; the checkpoint's file outlives the
  // layer.
  PlainLayer(std::string name, const SafetensorsFile& file, TensorInfo tensor, Order order,
             Load load);

  WeightSpec weight() const override;
  DType native_dtype() const override;
  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override;
  void rows(std::int64_t first, std::int64_t count, DType dtype, std::uint16_t* out) const override;

 private:
  const SafetensorsFile& file_;
  TensorInfo tensor_;
  Order order_;
  LargeBuffer<std::uint16_t> columns_;  // of kColumns with Load::kAll, else null
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_PLAIN_LAYER_H_
