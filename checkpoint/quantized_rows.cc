#include "checkpoint/quantized_rows.h"

#include <functional>
#include <numeric>

namespace heddle {

std::int64_t QuantizedRows::matrices() const {
  return std::accumulate(shape_.begin(), shape_.end() - 2, std::int64_t{1}, std::multiplies<>());
}

std::int64_t QuantizedRows::groups() const {
  const int group = weight().group_size;
  return group > 0 ? (k() + group - 1) / group : 1;
}

const std::vector<std::int32_t>& QuantizedRows::group_index() const {
  static const std::vector<std::int32_t> kInOrder;
  return kInOrder;
}

void QuantizedRows::zeros(std::int64_t, std::int64_t, std::uint8_t*) const {}

}  // namespace heddle
