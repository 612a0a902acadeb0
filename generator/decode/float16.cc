#include "generator/decode/float16.h"

#include <bit>
#include <cmath>

namespace heddle {
namespace {

// A result and what its rounding left, to odd: it keeps a trace of what was cut off, so that a
// second rounding to a format with at least two bits less gives the singly rounded one.
double to_odd(double rounded, double rest) {
  if (rest == 0.0 || (std::bit_cast<std::uint64_t>(rounded) & 1) != 0) return rounded;
  return std::nextafter(rounded, rest > 0 ? INFINITY : -INFINITY);
}

double add_to_odd(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  // Knuth's two-sum: x + y == sum + rest, exactly.
  const double y_part = sum - x;
  const double rest = (x - (sum - y_part)) + (y - y_part);
  return to_odd(sum, rest);
}

// 2^exponent. Precondition: -1022 <= exponent <= 1023.
double double_power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// To the nearest integer, ties to even. Precondition: 0 <= value < 2^51. Not for -ffast-math.
double nearest_integer(double value) {
  constexpr double kShift = 0x1p52;  // from here on doubles have no fraction
  return (value + kShift) - kShift;
}

}  // namespace

Float16Format float16_format(DType dtype) { return dtype == DType::kBf16 ? kBfloat16 : kBinary16; }

double float16_to_double(Float16Format format, std::uint16_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits & format.exponent_mask()) >> format.mantissa_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
  }
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return sign * (implicit + mantissa) * double_power_of_two(scale);
}

std::uint16_t float16_from_double(Float16Format format, double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const std::uint16_t infinity = format.exponent_mask();
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | 1 << (format.mantissa_bits - 1));
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0.0) return sign;
  // The weight of the last place: that of the value's binade, or of the subnormals.
  const int lowest = 1 - format.bias();
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52) - 1023;
  const int binade = std::max(exponent, lowest);
  const int last_place = binade - format.mantissa_bits;
  if (binade > format.bias()) return sign | infinity;
  // The product is exact, because it shifts the exponent.
  const auto units =
      static_cast<std::uint32_t>(nearest_integer(magnitude * double_power_of_two(-last_place)));
  // A carry out of the mantissa moves into the exponent by itself.
  const std::uint32_t base = static_cast<std::uint32_t>(binade - lowest) << format.mantissa_bits;
  const std::uint32_t result = base + units;
  return result >= infinity ? sign | infinity : static_cast<std::uint16_t>(sign | result);
}

std::uint16_t float16_fma(Float16Format format, std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  // The product of two 11-bit significands is exact in a double.
  const double product = float16_to_double(format, a) * float16_to_double(format, b);
  return float16_from_double(format, add_to_odd(product, float16_to_double(format, c)));
}

std::uint16_t float16_scaled(Float16Format format, double scale, double value, int exponent) {
  int power = 0;
  const double mantissa = std::frexp(scale, &power);  // so that no product overflows
  const double product = mantissa * value;
  const double odd = to_odd(product, std::fma(mantissa, value, -product));
  return float16_from_double(format, std::ldexp(odd, power - exponent));
}

std::uint16_t float16_sub(Float16Format format, std::uint16_t a, std::uint16_t b) {
  return float16_from_double(
      format, add_to_odd(float16_to_double(format, a), -float16_to_double(format, b)));
}

}  // namespace heddle
