// DenseRows: a weight matrix that gives its rows as 16-bit floats.
#ifndef HEDDLE_CHECKPOINT_DENSE_ROWS_H_
#define HEDDLE_CHECKPOINT_DENSE_ROWS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

// kShape leaves the data unread: enough for shapes, types and what the kernels' specs need.
enum class Load { kShape, kAll };

// Immutable: any thread may call it.
class DenseRows {
 public:
  virtual ~DenseRows() = default;

  // The last side is K; the product of the others is the number of rows.
  virtual std::vector<std::int64_t> shape() const = 0;
  // That of the scales, where these have 16 bits.
  virtual DType native_dtype() const = 0;
  // Rows first .. first + count - 1, columns in the checkpoint's order. The product of exact code
  // and scale is rounded once. `dtype` is kFp16 or kBf16.
  virtual void rows(std::int64_t first, std::int64_t count, DType dtype,
                    std::uint16_t* out) const = 0;

 protected:
  DenseRows() = default;
  DenseRows(const DenseRows&) = default;
  DenseRows& operator=(const DenseRows&) = default;
  DenseRows(DenseRows&&) = default;
  DenseRows& operator=(DenseRows&&) = default;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_DENSE_ROWS_H_
