#include "checkpoint/forms/quantizing_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "checkpoint/codes/half_convert.h"

namespace heddle {
namespace {

// Rows that are quantised at a time, at least: the tables that a call of quantize_weights() makes
// are then small beside its work.
constexpr std::int64_t kRowsAtATime = 256;

// The integer that a code stands for, before its zero point is taken away.
int integer_of(const WeightSpec& weight, int code) {
  const int half = 1 << (weight.bits - 1);
  if (weight.type == WeightType::kInt) return code >= half ? code - 2 * half : code;
  return weight.zero_point == ZeroPoint::kNone ? code - half : code;
}

}  // namespace

QuantizingRows::QuantizingRows(std::unique_ptr<QuantizedRows> source, const WeightSpec& weight)
    : QuantizedRows(source->name(), source->shape()), source_(std::move(source)), weight_(weight) {}

QuantizedWeights QuantizingRows::quantized(std::int64_t first, std::int64_t count) const {
  WeightOpSpec spec;
  spec.shape.n = count;
  spec.shape.k = k();
  spec.weight = weight_;
  spec.dtype = source_->native_dtype();
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count * k()));
  source_->rows(first, count, spec.dtype, values.data());
  return quantize_weights(spec, values);
}

template <class Use>
void QuantizingRows::with_rows(std::int64_t first, std::int64_t count, const Use& use) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (first < first_ || first + count > first_ + count_) {
    const std::int64_t more = std::min(std::max(count, kRowsAtATime), n() - first);
    count_ = 0;  // should the next line throw
    last_ = quantized(first, more);
    first_ = first;
    count_ = more;
  }
  use(last_, first - first_);
}

void QuantizingRows::codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  with_rows(first, count, [&](const QuantizedWeights& weights, std::int64_t row) {
    std::copy_n(weights.codes.begin() + row * k(), count * k(), out);
  });
}

void QuantizingRows::scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t bytes = groups() * bytes_of(weight_.scale_dtype);
  with_rows(first, count, [&](const QuantizedWeights& weights, std::int64_t row) {
    std::copy_n(weights.scales.begin() + row * bytes, count * bytes, out);
  });
}

void QuantizingRows::zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  if (weight_.zero_point == ZeroPoint::kNone) return QuantizedRows::zeros(first, count, out);
  with_rows(first, count, [&](const QuantizedWeights& weights, std::int64_t row) {
    std::copy_n(weights.zeros.begin() + row * groups(), count * groups(), out);
  });
}

void QuantizingRows::rows(std::int64_t first, std::int64_t count, DType dtype,
                          std::uint16_t* out) const {
  const TensorType type =
      weight_.scale_dtype == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16;
  const std::int64_t run = k() / groups();
  with_rows(first, count, [&](const QuantizedWeights& weights, std::int64_t row) {
    for (std::int64_t i = 0; i < count * k(); ++i) {
      const auto group = static_cast<std::size_t>((row * k() + i) / run);
      const int zero = weights.zeros.empty() ? 0 : weights.zeros[group];
      const int code = weights.codes[static_cast<std::size_t>(row * k() + i)];
      out[i] = round_to_16(dtype, (integer_of(weight_, code) - zero) *
                                      float_element(type, weights.scales.data(), group));
    }
  });
}

}  // namespace heddle
