// Both levels from W, and what they must keep to.
//
// A channel's scale takes its row to integers of -119 to 119, which groups of codes of four bits
// then cover in equal steps: the largest step is 17 of symmetric codes, 16 of others, and half a
// step beyond 119 is an INT8 still.
#include "generator/layout/two_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/layout/groups.h"
#include "generator/layout/rounding_rule.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr unsigned kCodes = 16;
constexpr int kLowestByte = -128, kHighestByte = 127;
constexpr float kMostOfRow = 119;

[[noreturn]] void refuse(std::int64_t row, std::int64_t group, const std::string& what) {
  throw Error(ErrorCategory::kUsage, "weights.group_scale",
              fmt::format("row {}, group {}: {}", row, group, what));
}

class Quantizer {
 public:
  Quantizer(const WeightOpSpec& spec, const std::vector<std::uint16_t>& w)
      : spec_(spec),
        w_(w),
        rule_(rounding_rule(spec.weight)),
        k_(spec.shape.k),
        groups_(groups_along_k(spec.weight, spec.shape.k)),
        width_(bytes_of(*spec.weight.channel_scale)),
        row_(static_cast<std::size_t>(spec.shape.k)) {
    const auto scales = static_cast<std::size_t>(spec.shape.n * groups_);
    weights_.codes.resize(w.size());
    weights_.scales.resize(scales);
    if (rule_.asymmetric) weights_.zeros.resize(scales);
    weights_.channel_scales.resize(static_cast<std::size_t>(spec.shape.n * width_));
  }

  QuantizedWeights run() {
    for (std::int64_t row = 0; row < spec_.shape.n; ++row) {
      set_row(row);
      for (std::int64_t begin = 0, group = 0; begin < k_; ++group) {
        std::int64_t end = begin;
        while (end < k_ && group_of_column(spec_.weight, end) == group) ++end;
        set_group(row, group, begin, end);
        begin = end;
      }
    }
    return std::move(weights_);
  }

 private:
  float value_at(std::int64_t row, std::int64_t column) const {
    return static_cast<float>(
        float16_to_double(float16_format(spec_.dtype), w_[row * k_ + column]));
  }

  // The channel's scale, and the row in its units: INT8. All zero where a value is not finite.
  void set_row(std::int64_t row) {
    const DType type = *spec_.weight.channel_scale;
    float largest = 0;
    bool is_finite = true;
    for (std::int64_t i = 0; i < k_; ++i) {
      const float value = value_at(row, i);
      row_[i] = value;
      is_finite = is_finite && std::isfinite(value);
      largest = std::max(largest, std::fabs(value));
    }
    RoundedScale scale{nan_scale(type), 0};
    if (is_finite) scale = round_scale(type, largest / kMostOfRow);
    std::memcpy(&weights_.channel_scales[row * width_], &scale.bits, width_);
    for (float& value : row_) {
      value = scale.value == 0
                  ? 0
                  : std::clamp(std::nearbyint(value / scale.value), -kMostOfRow, kMostOfRow);
    }
  }

  void set_group(std::int64_t row, std::int64_t group, std::int64_t begin, std::int64_t end) {
    float positive = 0, negative = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      positive = std::max(positive, row_[i]);
      negative = std::max(negative, -row_[i]);
    }
    const float range = rule_.asymmetric ? positive + negative : std::max(positive, negative);
    const int scale =
        std::max(1, static_cast<int>(std::nearbyint(range / static_cast<float>(rule_.divisor))));
    int zero = 0;
    if (rule_.asymmetric) zero = limit(steps(negative, scale) + rule_.low, rule_.low, rule_.high);
    const auto at = static_cast<std::size_t>(row * groups_ + group);
    weights_.scales[at] = static_cast<std::uint8_t>(scale);
    if (rule_.asymmetric) weights_.zeros[at] = stored(zero);
    const int low = std::max(rule_.low, zero + kLowestByte / scale);
    const int high = std::min(rule_.high, zero + kHighestByte / scale);
    for (std::int64_t i = begin; i < end; ++i) {
      weights_.codes[row * k_ + i] =
          stored(limit(steps(row_[i], scale) + zero, low, high) + rule_.bias);
    }
  }

  static int steps(float value, int scale) {
    return static_cast<int>(std::nearbyint(value / static_cast<float>(scale)));
  }
  static int limit(int value, int low, int high) { return std::clamp(value, low, high); }
  static std::uint8_t stored(int code) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(code) % kCodes);
  }

  const WeightOpSpec& spec_;
  const std::vector<std::uint16_t>& w_;
  const RoundingRule rule_;
  const std::int64_t k_;
  const std::int64_t groups_;
  const std::int64_t width_;
  std::vector<float> row_;
  QuantizedWeights weights_;
};

}  // namespace

void expect_group_scales(const GemmSpec& spec, const QuantizedWeights& weights) {
  const DecodeRequest request = decode_request(spec.weight, DType::kInt8);
  const std::int64_t groups = groups_along_k(spec.weight, spec.shape.k);
  const std::uint8_t* code = weights.codes.data();
  for (std::int64_t row = 0; row < spec.shape.n; ++row) {
    for (std::int64_t column = 0, group = 0; column < spec.shape.k; ++group) {
      const auto at = static_cast<std::size_t>(row * groups + group);
      const int scale = static_cast<std::int8_t>(weights.scales[at]);
      if (scale < 1) refuse(row, group, fmt::format("the scale is {}; allowed: 1 to 127", scale));
      const unsigned zero = weights.zeros.empty() ? 0 : weights.zeros[at] % kCodes;
      unsigned fitting = 0;
      for (unsigned c = 0; c < kCodes; ++c) {
        fitting |= (fits_int8(request, c, zero, scale) ? 1u : 0u) << c;
      }
      for (; column < spec.shape.k && group_of_column(spec.weight, column) == group; ++column) {
        const unsigned c = *code++ % kCodes;
        if ((fitting >> c & 1) != 0) continue;
        const int weight = integer_weight(request, c, zero);
        refuse(row, group,
               fmt::format("a weight of {}, column {}, times the scale {} is {}, no INT8", weight,
                           column, scale, weight * scale));
      }
    }
  }
}

QuantizedWeights quantize_two_levels(const WeightOpSpec& spec,
                                     const std::vector<std::uint16_t>& w) {
  return Quantizer(spec, w).run();
}

}  // namespace heddle
