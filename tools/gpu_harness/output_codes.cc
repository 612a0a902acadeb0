#include "tools/gpu_harness/output_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {
namespace {

constexpr int kSign = 0x80;

struct Float8 {
  int mantissa_bits;
  int bias;
  int largest;  // the code of the largest finite magnitude

  double value(int code) const {
    const int exponent = code >> mantissa_bits;
    const int fraction = code & ((1 << mantissa_bits) - 1);
    return exponent == 0
               ? std::ldexp(fraction, 1 - bias - mantissa_bits)
               : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
  }
};

Float8 float8(DType dtype) {
  return dtype == DType::kFp8E4m3 ? Float8{3, 7, 0x7E} : Float8{2, 15, 0x7B};
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

Interval interval_of_float(const Float8& format, int code) {
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
  const double largest = dtype == DType::kInt8 ? std::numeric_limits<std::int8_t>::max()
                                               : float8(dtype).value(float8(dtype).largest);
  return static_cast<float>(kDeviations * deviation / largest);
}

double code_error(DType dtype, std::uint8_t code, double scale, double expected) {
  const Interval interval = dtype == DType::kInt8
                                ? interval_of_integer(static_cast<std::int8_t>(code))
                                : interval_of_float(float8(dtype), code);
  if (std::isnan(interval.low)) return interval.low;
  const double value = expected / scale;
  return scale * std::max({interval.low - value, value - interval.high, 0.0});
}

}  // namespace heddle
