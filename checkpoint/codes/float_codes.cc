#include "checkpoint/codes/float_codes.h"

#include <array>
#include <cmath>

namespace heddle {

double e4m3_value(std::uint8_t code) {
  const int exponent = code >> 3 & 0xF;
  const int mantissa = code & 0x7;
  const double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
  if ((code & 0x7F) == 0x7F) return std::copysign(NAN, sign);
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(8 + mantissa, exponent - 10);
}

double e5m2_value(std::uint8_t code) {
  const int exponent = code >> 2 & 0x1F;
  const int mantissa = code & 0x3;
  const double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1F) return std::copysign(mantissa == 0 ? INFINITY : NAN, sign);
  if (exponent == 0) return sign * std::ldexp(mantissa, -16);
  return sign * std::ldexp(4 + mantissa, exponent - 17);
}

double e2m1_value(std::uint8_t code) {
  static constexpr std::array<double, 8> kMagnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double magnitude = kMagnitudes[code & 0x7];
  return (code & 0x8) != 0 ? -magnitude : magnitude;
}

double e8m0_value(std::uint8_t code) { return code == 255 ? NAN : std::ldexp(1.0, code - 127); }

}  // namespace heddle
