// A field with one bit more than the mantissa, where it may not lie bare.
#ifndef HEDDLE_GENERATOR_DECODE_SPLIT_FIELD_H_
#define HEDDLE_GENERATOR_DECODE_SPLIT_FIELD_H_

#include <string>

#include "generator/decode/pair_bits.h"

namespace heddle {

// Makes the register with both codes less their fixed bias, each the difference of two floats:
// - The low M bits make 2^M + low.
// - The top bit falls on the lowest bit of the exponent, where it turns 2^M into 2^(M + 1):
//   flipped, it makes 2^(M + 1) - 2^M * top. A two's complement top bit is not flipped and counts
//   -2^M.
// The difference is low + 2^M * top - 2^M.
int split_field(const DecodeRequest& request, const PairBits& bits, Registers& registers,
                const std::string& shift_why = {});

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_SPLIT_FIELD_H_
