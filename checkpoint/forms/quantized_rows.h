// QuantizedRows: a weight matrix, whose rows it gives as 16-bit floats or as codes with their
// scales and zero points. Weights that were not quantised are codes of 16 bits without scales.
#ifndef HEDDLE_CHECKPOINT_FORMS_QUANTIZED_ROWS_H_
#define HEDDLE_CHECKPOINT_FORMS_QUANTIZED_ROWS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// kShape leaves the data unread: enough for shapes, types and what the kernels' specs need.
enum class Load { kShape, kAll };

// W[row, column] = (code - zero) * scale * tensor_scale, columns in the checkpoint's order. A
// tensor of experts is several matrices [N, K], whose rows are counted on. Immutable: any thread
// may call it.
class QuantizedRows {
 public:
  virtual ~QuantizedRows() = default;
  QuantizedRows(const QuantizedRows&) = delete;
  QuantizedRows& operator=(const QuantizedRows&) = delete;

  const std::string& name() const noexcept { return name_; }
  // The last two sides are N and K; the product of the others, if there are any, is matrices().
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  std::int64_t matrices() const;
  std::int64_t n() const { return shape_[shape_.size() - 2]; }
  std::int64_t k() const { return shape_.back(); }
  // Scales of a row; 0 of weights that have none.
  std::int64_t groups() const;
  // Bytes of one code: 2, in native byte order, for weights of 16 bits, else 1.
  std::int64_t code_bytes() const { return weight().has_scales() ? 1 : 2; }
  // The shape that plain weights of the layer have in the model: shape(), or that of a convolution.
  virtual const std::vector<std::int64_t>& plain_shape() const { return shape_; }

  // Type, groups, scales and zero points as the kernel's spec names them.
  virtual WeightSpec weight() const = 0;
  virtual float tensor_scale() const { return 1.0F; }
  // The group of each column, [K]; empty where column k is of group k / group_size.
  virtual const std::vector<std::int32_t>& group_index() const;
  // Whether the scales are those of blocks of kBlockRows by kRowGroup weights: of each matrix all
  // rows from a multiple of kBlockRows to the next one have the same.
  virtual bool is_in_blocks() const { return false; }
  // Type of the dequantised weights unless the config says otherwise: that of the scales, where
  // these have 16 bits.
  virtual DType native_dtype() const = 0;

  // The rows first .. first + count - 1. A scale of the whole tensor is written for each row.
  // [, K], code_bytes() each.
  virtual void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const = 0;
  virtual void scales(std::int64_t first, std::int64_t count,
                      std::uint8_t* out) const = 0;  // [, G]
  // [, G], each a code; also those that the type implies. Precondition: the type is kUint.
  virtual void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const;
  // The exact product, rounded once. `dtype` is kFp16 or kBf16.
  virtual void rows(std::int64_t first, std::int64_t count, DType dtype,
                    std::uint16_t* out) const = 0;

 protected:
  QuantizedRows(std::string name, std::vector<std::int64_t> shape)
      : name_(std::move(name)), shape_(std::move(shape)) {}
  QuantizedRows(QuantizedRows&&) = default;
  QuantizedRows& operator=(QuantizedRows&&) = default;

 private:
  std::string name_;
  std::vector<std::int64_t> shape_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_QUANTIZED_ROWS_H_
