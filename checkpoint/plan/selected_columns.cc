#include "checkpoint/plan/selected_columns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/weights.h"

namespace heddle {
namespace {

std::vector<std::int64_t> selected_shape(std::vector<std::int64_t> shape, std::int64_t columns) {
  shape.back() = columns;
  return shape;
}

// Elements [begin, begin + width) of each row of `from`, [count, stride].
template <class T>
void copy_slices(const std::vector<T>& from, std::int64_t count, std::int64_t begin,
                 std::int64_t width, T* out) {
  const std::int64_t stride = std::ssize(from) / std::max<std::int64_t>(count, 1);
  for (std::int64_t row = 0; row < count; ++row) {
    std::copy_n(from.begin() + row * stride + begin, width, out + row * width);
  }
}

}  // namespace

SelectedColumns::SelectedColumns(std::unique_ptr<QuantizedRows> layer, ColumnRun columns)
    : QuantizedRows(layer->name(), selected_shape(layer->shape(), columns.count)),
      layer_(std::move(layer)),
      columns_(columns) {}

WeightSpec SelectedColumns::weight() const {
  WeightSpec weight = layer_->weight();
  if (weight.has_scales() && weight.group_size > 0) {
    weight.group_offset = static_cast<int>(columns_.first % weight.group_size);
  }
  return weight;
}

std::int64_t SelectedColumns::first_group() const {
  const int group = layer_->weight().group_size;
  return group > 0 ? columns_.first / group : 0;
}

void SelectedColumns::codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t bytes = code_bytes();
  std::vector<std::uint8_t> whole(static_cast<std::size_t>(count * layer_->k() * bytes));
  layer_->codes(first, count, whole.data());
  copy_slices(whole, count, columns_.first * bytes, columns_.count * bytes, out);
}

void SelectedColumns::scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  if (groups() == 0) return;
  const std::int64_t bytes = bytes_of(layer_->weight().scale_dtype);
  std::vector<std::uint8_t> whole(static_cast<std::size_t>(count * layer_->groups() * bytes));
  layer_->scales(first, count, whole.data());
  copy_slices(whole, count, first_group() * bytes, groups() * bytes, out);
}

void SelectedColumns::zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  std::vector<std::uint8_t> whole(static_cast<std::size_t>(count * layer_->groups()));
  layer_->zeros(first, count, whole.data());
  copy_slices(whole, count, first_group(), groups(), out);
}

void SelectedColumns::rows(std::int64_t first, std::int64_t count, DType dtype,
                           std::uint16_t* out) const {
  std::vector<std::uint16_t> whole(static_cast<std::size_t>(count * layer_->k()));
  layer_->rows(first, count, dtype, whole.data());
  copy_slices(whole, count, columns_.first, columns_.count, out);
}

}  // namespace heddle
