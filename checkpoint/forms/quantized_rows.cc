#include "checkpoint/forms/quantized_rows.h"

#include <functional>
#include <numeric>

#include "generator/layout/groups.h"

namespace heddle {

std::int64_t QuantizedRows::matrices() const {
  return std::accumulate(shape_.begin(), shape_.end() - 2, std::int64_t{1}, std::multiplies<>());
}

std::int64_t QuantizedRows::groups() const {
  const WeightSpec spec = weight();
  return spec.has_scales() ? groups_along_k(spec, k()) : 0;
}

const std::vector<std::int32_t>& QuantizedRows::group_index() const {
  static const std::vector<std::int32_t> kInOrder;
  return kInOrder;
}

void QuantizedRows::zeros(std::int64_t, std::int64_t, std::uint8_t*) const {}

}  // namespace heddle
