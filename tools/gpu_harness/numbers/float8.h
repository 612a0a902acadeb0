// The two FP8 formats, by the values of their codes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_FLOAT8_H_
#define HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_FLOAT8_H_

#include <cmath>

namespace heddle {

struct Float8Format {
  int mantissa_bits;
  int bias;
  int largest;  // the code of the largest finite magnitude

  // For a code without its sign.
  double value(int code) const {
    const int exponent = code >> mantissa_bits;
    const int fraction = code & ((1 << mantissa_bits) - 1);
    return exponent == 0
               ? std::ldexp(fraction, 1 - bias - mantissa_bits)
               : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
  }
};

inline constexpr Float8Format kFloat8E4m3{3, 7, 0x7E};
inline constexpr Float8Format kFloat8E5m2{2, 15, 0x7B};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_NUMBERS_FLOAT8_H_
