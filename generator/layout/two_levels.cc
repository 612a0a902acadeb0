// Both levels from W, and what they must keep to.
//
// A channel's scale takes its row to integers of -119 to 119, which groups of codes of four bits
// then cover in equal steps.
#include "generator/layout/two_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"
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

class TwoLevelQuantizer {
 public:
  TwoLevelQuantizer(const WeightOpSpec& spec, const std::vector<std::uint16_t>& w)
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

  // The better of the two integers that the range over its steps lies between: a smaller scale cuts
  // off the ends of the range, which matters most where it is small.
  void set_group(std::int64_t row, std::int64_t group, std::int64_t begin, std::int64_t end) {
    float positive = 0, negative = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      positive = std::max(positive, row_[i]);
      negative = std::max(negative, -row_[i]);
    }
    const float range = rule_.asymmetric ? positive + negative : std::max(positive, negative);
    const float step = range / static_cast<float>(rule_.divisor);
    const Group small = group_of(static_cast<int>(std::floor(step)), negative);
    const Group large = group_of(static_cast<int>(std::ceil(step)), negative);
    const bool is_small = error_of(small, begin, end) <= error_of(large, begin, end);
    const Group& best = is_small ? small : large;
    const auto at = static_cast<std::size_t>(row * groups_ + group);
    weights_.scales[at] = static_cast<std::uint8_t>(best.scale);
    if (rule_.asymmetric) weights_.zeros[at] = stored(best.zero);
    for (std::int64_t i = begin; i < end; ++i) {
      weights_.codes[row * k_ + i] = stored(best.code(row_[i]) + rule_.bias);
    }
  }

  // The codes of a scale: from low to high all products are INT8.
  struct Group {
    int scale, zero, low, high;

    int code(float value) const { return std::clamp(steps(value, scale) + zero, low, high); }
  };
  Group group_of(int wanted_scale, float negative) const {
    const int scale = std::max(wanted_scale, 1);
    int zero = 0;
    if (rule_.asymmetric) {
      zero = std::clamp(steps(negative, scale) + rule_.low, rule_.low, rule_.high);
    }
    return {scale, zero, std::max(rule_.low, zero + kLowestByte / scale),
            std::min(rule_.high, zero + kHighestByte / scale)};
  }
  std::int64_t error_of(const Group& group, std::int64_t begin, std::int64_t end) const {
    std::int64_t sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<std::int64_t>(row_[i]);
      const std::int64_t off = group.scale * (group.code(row_[i]) - group.zero) - value;
      sum += off * off;
    }
    return sum;
  }

  static int steps(float value, int scale) {
    return static_cast<int>(std::nearbyint(value / static_cast<float>(scale)));
  }
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
      const int byte = weights.scales[at];
      const int scale = byte > kLargestByteScale ? byte - 256 : byte;  // two's complement
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
  return TwoLevelQuantizer(spec, w).run();
}

}  // namespace heddle
