// The derivations. Each fills ops, outputs and, for integer zero points, the zero part of a
// plan whose request and bit order are set.
#ifndef HEDDLE_GENERATOR_DECODE_DERIVATION_H_
#define HEDDLE_GENERATOR_DECODE_DERIVATION_H_

#include "generator/decode/decode_plan.h"

namespace heddle {

void derive_integer(DecodePlan& plan);
void derive_float(DecodePlan& plan);
void derive_table(DecodePlan& plan);
// Codes that are values of the destination's type.
void derive_plain(DecodePlan& plan);
// Integers to INT8 or FP8.
void derive_byte_codes(DecodePlan& plan);

// Both halves alike.
constexpr std::uint32_t both_halves(std::uint32_t half) { return half << 16 | half; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_DERIVATION_H_
