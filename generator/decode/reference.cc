// What a code means, by exact arithmetic.
#include <algorithm>
#include <cmath>

#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

double float_value(const DecodeRequest& request, unsigned code) {
  const int mantissa = static_cast<int>(code & ((1u << request.mantissa_bits) - 1));
  const int exponent =
      static_cast<int>(code >> request.mantissa_bits & ((1u << request.exponent_bits) - 1));
  const double sign = (code >> (request.bits - 1) & 1) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (request.exponent_bits - 1)) - 1;
  const int implicit = exponent == 0 ? 0 : 1 << request.mantissa_bits;
  const int scale = (exponent == 0 ? 1 : exponent) - bias - request.mantissa_bits;
  return sign * std::ldexp(implicit + mantissa, scale);
}

// The INT8 or e4m3 code of a number that has one.
std::uint16_t byte_code(DType dtype, double value) {
  if (dtype == DType::kInt8) {
    return static_cast<std::uint8_t>(static_cast<std::int8_t>(std::lrint(value)));
  }
  constexpr int kMantissaBits = 3, kBias = 7;
  const double magnitude = std::fabs(value);
  const int binade = magnitude == 0 ? 1 - kBias : std::max(std::ilogb(magnitude), 1 - kBias);
  const auto units = std::lrint(std::ldexp(magnitude, kMantissaBits - binade));
  const auto base = (binade + kBias - 1) << kMantissaBits;
  return static_cast<std::uint16_t>((value < 0 ? 0x80 : 0) | (base + units));
}

}  // namespace

std::uint16_t reference_decode(const DecodeRequest& request, unsigned code, unsigned zero,
                               int exponent, double scale) {
  if (request.dtype == DType::kInt8 || request.dtype == DType::kFp8E4m3) {
    return byte_code(request.dtype,
                     std::ldexp(scale * integer_weight(request, code, zero), -exponent));
  }
  const Float16Format format = float16_format(request.dtype);
  switch (request.kind) {
    case CodeKind::kInteger: {
      const int value = integer_weight(request, code, zero);
      // No difference of two equal numbers is -0, whatever the scale's sign.
      return value == 0 ? 0 : float16_scaled(format, scale, value, exponent);
    }
    case CodeKind::kTable:
      return float16_scaled(format, scale, request.table.at(code), exponent);
    case CodeKind::kFloat:
      break;
  }
  const unsigned top_exponent = (1u << request.exponent_bits) - 1;
  const unsigned code_exponent = code >> request.mantissa_bits & top_exponent;
  if (request.exponent_bits == format.exponent_bits && code_exponent == top_exponent) {
    const int up = format.mantissa_bits - request.mantissa_bits;
    return static_cast<std::uint16_t>(code << up);
  }
  return float16_scaled(format, scale, float_value(request, code), exponent);
}

}  // namespace heddle
