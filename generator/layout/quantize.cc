// Rounding to the nearest code, in FP32, step by step as templates/quantize_weight/rounding.cuh
// does it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "generator/decode/float16.h"
#include "generator/layout/groups.h"
#include "generator/layout/packable.h"
#include "generator/layout/rounding_rule.h"
#include "generator/layout/two_levels.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::uint16_t kMagnitude = 0x7FFF;

// The value of each of the 16-bit floats.
std::vector<float> every_value(DType dtype) {
  std::vector<float> values(std::size_t{1} << 16);
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    values[bits] = static_cast<float>(
        float16_to_double(float16_format(dtype), static_cast<std::uint16_t>(bits)));
  }
  return values;
}

// The magnitudes of a group's largest positive and largest negative value, as 16-bit floats, which
// order like their bits. A NaN is above all.
struct Range {
  std::uint16_t positive = 0;
  std::uint16_t negative = 0;

  void add(std::uint16_t value) {
    std::uint16_t& side = (value & 0x8000) != 0 ? negative : positive;
    side = std::max<std::uint16_t>(side, value & kMagnitude);
  }
};

struct GroupCode {
  RoundedScale scale;
  int zero = 0;  // before the bias
};

class Quantizer {
 public:
  explicit Quantizer(const WeightOpSpec& spec)
      : spec_(spec),
        rule_(rounding_rule(spec.weight)),
        values_(every_value(spec.dtype)),
        infinity_(float16_format(spec.dtype).exponent_mask()),
        mask_((1u << spec.weight.bits) - 1) {}

  GroupCode group_code(const Range& range) const {
    GroupCode code;
    code.zero = rule_.asymmetric ? rule_.low : 0;
    if (range.positive >= infinity_ || range.negative >= infinity_) {
      code.scale = {nan_scale(spec_.weight.scale_dtype), 0};
      return code;
    }
    const float positive = values_[range.positive];
    const float negative = values_[range.negative];
    const float width = rule_.asymmetric ? positive + negative : std::max(positive, negative);
    const float divisor = rule_.is_float ? rule_.code_float.value(rule_.code_float.largest)
                                         : static_cast<float>(rule_.divisor);
    code.scale = round_scale(spec_.weight.scale_dtype, width / divisor);
    if (rule_.asymmetric && code.scale.value != 0) {
      code.zero =
          limit(std::nearbyint(negative / code.scale.value) + static_cast<float>(rule_.low));
    }
    return code;
  }

  std::uint8_t code(std::uint16_t value, const GroupCode& group) const {
    const float scale = group.scale.value;
    if (rule_.is_float) {
      if (scale == 0) return 0;
      const std::uint32_t sign = static_cast<std::uint32_t>(value >> 15) << (spec_.weight.bits - 1);
      return static_cast<std::uint8_t>(
          sign | rule_.code_float.nearest(values_[value & kMagnitude] / scale));
    }
    const float steps = scale == 0 ? 0 : std::nearbyint(values_[value] / scale);
    return stored(limit(steps + static_cast<float>(group.zero)) + rule_.bias);
  }

  std::uint8_t stored(int code) const {
    return static_cast<std::uint8_t>(static_cast<std::uint32_t>(code) & mask_);
  }

 private:
  int limit(float value) const {
    return static_cast<int>(
        std::clamp(value, static_cast<float>(rule_.low), static_cast<float>(rule_.high)));
  }

  const WeightOpSpec& spec_;
  const RoundingRule rule_;
  const std::vector<float> values_;
  const std::uint16_t infinity_;
  const std::uint32_t mask_;
};

}  // namespace

QuantizedWeights quantize_weights(const WeightOpSpec& spec, const std::vector<std::uint16_t>& w) {
  constexpr Op kQuantize = Op::kQuantizeWeight;
  const bool two_levels = spec.weight.has_two_levels();
  if (two_levels) {
    Spec::from_weight_op(kQuantize, spec);
    expect_packable(byte_gemm_of(spec));
  } else {
    expect_packable(kQuantize, spec);
  }
  std::vector<Problem> problems = refuse_rounding(spec.weight);
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "weights.unsupported", std::move(problems));
  }
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto k = static_cast<std::size_t>(spec.shape.k);
  if (w.size() != n * k) {
    throw Error(ErrorCategory::kUsage, "weights.size",
                fmt::format("w has {} values, the spec asks for {}", w.size(), n * k));
  }
  if (two_levels) return quantize_two_levels(spec, w);
  const std::size_t columns =
      spec.weight.group_size > 0 ? static_cast<std::size_t>(spec.weight.group_size) : k;
  const auto rows = static_cast<std::size_t>(spec.weight.group_rows);
  const auto groups = static_cast<std::size_t>(groups_along_k(spec.weight, spec.shape.k));
  const auto width = static_cast<std::size_t>(bytes_of(spec.weight.scale_dtype));
  const Quantizer quantizer(spec);
  QuantizedWeights weights;
  weights.codes.resize(n * k);
  const std::size_t scales = ((n - 1) / rows + 1) * groups;
  weights.scales.resize(scales * width);
  if (spec.weight.zero_point == ZeroPoint::kInt) weights.zeros.resize(scales);
  for (std::size_t scale = 0; scale < scales; ++scale) {
    // The last blocks may have fewer rows and columns.
    const std::size_t row = scale / groups * rows;
    const std::size_t column = scale % groups * columns;
    const auto for_each = [&](const auto& function) {
      for (std::size_t i = row; i < std::min(row + rows, n); ++i) {
        for (std::size_t j = column; j < std::min(column + columns, k); ++j) function(i * k + j);
      }
    };
    Range range;
    for_each([&](std::size_t i) { range.add(w[i]); });
    const GroupCode code = quantizer.group_code(range);
    std::memcpy(&weights.scales[scale * width], &code.scale.bits, width);
    if (!weights.zeros.empty()) weights.zeros[scale] = quantizer.stored(code.zero);
    for_each([&](std::size_t i) { weights.codes[i] = quantizer.code(w[i], code); });
  }
  return weights;
}

}  // namespace heddle
