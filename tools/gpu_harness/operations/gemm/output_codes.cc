#include "tools/gpu_harness/operations/gemm/output_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/gpu_harness/numbers/float8.h"

namespace heddle {
namespace {

constexpr int kSign = 0x80;

const Float8Format& float8_format(DType dtype) {
  return dtype == DType::kFp8E4m3 ? kFloat8E4m3 : kFloat8E5m2;
}

double largest_value(DType dtype) {
  return dtype == DType::kInt8 ? std::numeric_limits<std::int8_t>::max()
                               : float8_format(dtype).value(float8_format(dtype).largest);
}

// The ends of the values that are rounded to a code.
struct Interval {
  double low, high;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval interval_of_integer(int code) {
  return {code == std::numeric_limits<std::int8_t>::min() ? -kInfinity : code - 0.5,
          code == std::numeric_limits<std::int8_t>::max() ? kInfinity : code + 0.5};
}

Interval interval_of_float(const Float8Format& format, int code) {
  const int magnitude = code & ~kSign;
  if (magnitude > format.largest) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {kNan, kNan};
  }
  const auto middle = [&](int below) {
    return (format.value(below) + format.value(below + 1)) / 2;
  };
  const double high = magnitude == format.largest ? kInfinity : middle(magnitude);
  // Zero has two codes, of numbers of either sign.
  const double low = magnitude == 0 ? -high : middle(magnitude - 1);
  return (code & kSign) == 0 ? Interval{low, high} : Interval{-high, -low};
}

}  // namespace

float output_scale(DType dtype, const std::vector<double>& values) {
  constexpr double kDeviations = 3;
  double squares = 0;
  for (const double value : values) squares += value * value;
  const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return static_cast<float>(kDeviations * deviation / largest_value(dtype));
}

namespace {

// The scales of a launch.
class Scales {
 public:
  Scales(const GemmSpec& spec, std::int64_t m, const std::uint8_t* bytes)
      : of_groups_(spec.output_scale.granularity == RowGranularity::kGroup),
        e8m0_(spec.output_scale.scale_dtype == RowScaleDtype::kE8m0),
        groups_(spec.output_groups()),
        stride_((m + kStep - 1) / kStep * kStep),
        largest_(largest_value(spec.output_dtype())),
        bytes_(bytes) {}

  bool of_groups() const { return of_groups_; }

  double at(std::int64_t token, std::int64_t group) const {
    if (!of_groups_) return single(0);
    if (!e8m0_) return single(group * stride_ + token);
    const int code = exponent(token, group);
    return code == kNanExponent ? std::numeric_limits<double>::quiet_NaN()
                                : std::ldexp(1.0, code - kExponentBias);
  }

  // How far the scale is from one of values with this largest magnitude.
  double error(std::int64_t token, std::int64_t group, double most) const {
    const double high = at(token, group) * largest_;
    if (!e8m0_) return std::abs(high - most);
    // Behind the last group there are no scales.
    for (std::int64_t next = group + 1; group == groups_ - 1 && next % kStep != 0; ++next) {
      if (exponent(token, next) != 0) return std::numeric_limits<double>::quiet_NaN();
    }
    return std::max({most - high, high / 2 - most, 0.0});
  }

 private:
  static constexpr std::int64_t kStep = 4;  // of strides, and groups of a word
  static constexpr int kNanExponent = 255, kExponentBias = 127;

  double single(std::int64_t i) const {
    float value = 0;
    std::memcpy(&value, bytes_ + sizeof value * static_cast<std::size_t>(i), sizeof value);
    return value;
  }
  int exponent(std::int64_t token, std::int64_t group) const {
    return bytes_[kStep * (group / kStep * stride_ + token) + group % kStep];
  }

  bool of_groups_, e8m0_;
  std::int64_t groups_, stride_;
  double largest_;
  const std::uint8_t* bytes_;
};

void add(double error, CodeErrors* errors) {
  errors->squares += error * error;
  // Written so that a NaN stays.
  if (!(error <= errors->most)) errors->most = error;
}

}  // namespace

CodeErrors code_errors(const GemmSpec& spec, std::int64_t m, const std::uint8_t* y,
                       const std::uint8_t* scales_bytes, const double* expected) {
  const Scales scales(spec, m, scales_bytes);
  const std::int64_t columns = spec.output_columns();
  CodeErrors errors;
  for (std::int64_t token = 0; token < m; ++token) {
    for (std::int64_t first = 0; first < columns; first += kRowGroup) {
      const std::int64_t group = first / kRowGroup;
      const double scale = scales.at(token, group);
      double most = 0;
      for (std::int64_t i = first; i < std::min(first + kRowGroup, columns); ++i) {
        const double value = expected[token * columns + i];
        add(code_error(spec.output_dtype(), y[token * columns + i], scale, value), &errors);
        errors.expected += value * value;
        most = std::max(most, std::abs(value));
      }
      if (scales.of_groups()) add(scales.error(token, group, most), &errors);
    }
  }
  return errors;
}

double code_error(DType dtype, std::uint8_t code, double scale, double expected) {
  const Interval interval = dtype == DType::kInt8
                                ? interval_of_integer(static_cast<std::int8_t>(code))
                                : interval_of_float(float8_format(dtype), code);
  if (std::isnan(interval.low)) return interval.low;
  const double value = expected / scale;
  return scale * std::max({interval.low - value, value - interval.high, 0.0});
}

}  // namespace heddle
