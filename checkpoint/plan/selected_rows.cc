#include "checkpoint/plan/selected_rows.h"

#include <algorithm>
#include <utility>

#include "heddle/weights.h"

namespace heddle {
namespace {

std::vector<std::int64_t> selected_shape(std::vector<std::int64_t> shape,
                                         const std::vector<RowRun>& runs) {
  std::int64_t& n = shape[shape.size() - 2];
  n = 0;
  for (const RowRun& run : runs) n += run.count;
  return shape;
}

}  // namespace

SelectedRows::SelectedRows(std::unique_ptr<QuantizedRows> layer, std::vector<RowRun> runs)
    : QuantizedRows(layer->name(), selected_shape(layer->shape(), runs)),
      layer_(std::move(layer)),
      runs_(std::move(runs)) {
  std::int64_t end = 0;
  for (const RowRun& run : runs_) ends_.push_back(end += run.count);
}

// Every run has to begin with a block, there and here.
bool SelectedRows::is_in_blocks() const {
  std::int64_t begin = 0;
  for (const RowRun& run : runs_) {
    if (begin % kBlockRows != 0 || run.first % kBlockRows != 0) return false;
    begin += run.count;
  }
  return layer_->is_in_blocks();
}

template <class Each>
void SelectedRows::for_runs(std::int64_t first, std::int64_t count, const Each& each) const {
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t row = (first + done) % n();  // of its matrix, in this order
    const std::int64_t matrix = (first + done) / n();
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), row);
    const RowRun& run = runs_[static_cast<std::size_t>(end - ends_.begin())];
    const std::int64_t rows = std::min(*end - row, count - done);
    each(matrix * layer_->n() + run.first + run.count - (*end - row), rows, done);
    done += rows;
  }
}

void SelectedRows::codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t bytes = k() * code_bytes();
  for_runs(first, count, [&](std::int64_t row, std::int64_t rows, std::int64_t before) {
    layer_->codes(row, rows, out + before * bytes);
  });
}

void SelectedRows::scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t bytes = groups() * bytes_of(weight().scale_dtype);
  for_runs(first, count, [&](std::int64_t row, std::int64_t rows, std::int64_t before) {
    layer_->scales(row, rows, out + before * bytes);
  });
}

void SelectedRows::zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  for_runs(first, count, [&](std::int64_t row, std::int64_t rows, std::int64_t before) {
    layer_->zeros(row, rows, out + before * groups());
  });
}

void SelectedRows::rows(std::int64_t first, std::int64_t count, DType dtype,
                        std::uint16_t* out) const {
  for_runs(first, count, [&](std::int64_t row, std::int64_t rows, std::int64_t before) {
    layer_->rows(row, rows, dtype, out + before * k());
  });
}

}  // namespace heddle
