// Where each bit of each code lies in the words of a unit.
#ifndef HEDDLE_GENERATOR_DECODE_BIT_ORDER_H_
#define HEDDLE_GENERATOR_DECODE_BIT_ORDER_H_

#include <vector>

#include "generator/decode/decode_plan.h"

namespace heddle {

// The smallest number of elements that is whole tiles' worth of a lane (8) and fills whole words.
int unit_elements(int bits);

// Fills words, bit_of and field_of. The fragment order depends on the width and the kind of code
// alone, so that the same packed bytes serve every destination type. Throws Error(kUnsupported,
// "decode.unsupported") for an order that the width has not.
void set_bit_order(DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_BIT_ORDER_H_
