// Bit-exact binary16 and bfloat16 arithmetic on the host.
#ifndef HEDDLE_GENERATOR_DECODE_FLOAT16_H_
#define HEDDLE_GENERATOR_DECODE_FLOAT16_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

// A 16-bit IEEE-style format with a sign bit, subnormals, infinities and NaN.
struct Float16Format {
  int mantissa_bits;
  int exponent_bits;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint16_t exponent_mask() const {
    return static_cast<std::uint16_t>(((1u << exponent_bits) - 1) << mantissa_bits);
  }
  // The bits of 2^e, for a normal exponent e.
  constexpr std::uint16_t power_of_two(int e) const {
    return static_cast<std::uint16_t>((e + bias()) << mantissa_bits);
  }
};

inline constexpr Float16Format kBinary16{10, 5};
inline constexpr Float16Format kBfloat16{7, 8};

// Precondition: dtype is kFp16 or kBf16.
Float16Format float16_format(DType dtype);

// Exact.
double float16_to_double(Float16Format format, std::uint16_t bits);
// Rounds to nearest, ties to even; overflow gives infinity, NaN a quiet NaN.
std::uint16_t float16_from_double(Float16Format format, double value);

// a * b + c with one rounding, as the fma instruction does it.
std::uint16_t float16_fma(Float16Format format, std::uint16_t a, std::uint16_t b, std::uint16_t c);
// scale * value / 2^exponent with one rounding. Preconditions: both are finite, and `value` is a
// float's value.
std::uint16_t float16_scaled(Float16Format format, double scale, double value, int exponent);
// a - b with one rounding.
std::uint16_t float16_sub(Float16Format format, std::uint16_t a, std::uint16_t b);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_FLOAT16_H_
