// How quantize_weight rounds: the constants that its kernel and quantize_weights() share.
#ifndef HEDDLE_GENERATOR_LAYOUT_ROUNDING_RULE_H_
#define HEDDLE_GENERATOR_LAYOUT_ROUNDING_RULE_H_

#include <cstdint>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

// A sign, `exponent_bits` and `mantissa_bits`, IEEE-style with subnormals; at most 16 bits.
struct SmallFloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  std::uint32_t largest = 0;  // code of the largest finite magnitude

  // The exact value of a magnitude's code.
  float value(std::uint32_t code) const;
  // The code of the nearest magnitude, ties to even, not above `largest`. `magnitude` is not
  // negative and no NaN.
  std::uint32_t nearest(float magnitude) const;
};

struct RoundingRule {
  bool is_float = false;  // codes are `code_float`, else integers from low to high
  SmallFloat code_float;
  bool asymmetric = false;
  int low = 0;
  int high = 0;
  int bias = 0;     // what is added to the integer for its code
  int divisor = 1;  // integers: the scale is the width of the range over this
};

RoundingRule rounding_rule(const WeightSpec& weight);

// A scale as stored and as the number that W is divided by; zero: nothing is divided.
struct RoundedScale {
  std::uint32_t bits = 0;
  float value = 0;
};
RoundedScale round_scale(DType dtype, float scale);
// The NaN that marks a group with a value that is not finite.
std::uint32_t nan_scale(DType dtype);

// Codes, scales and zero points that cannot be made, with the reasons.
std::vector<Problem> refuse_rounding(const WeightSpec& weight);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_ROUNDING_RULE_H_
