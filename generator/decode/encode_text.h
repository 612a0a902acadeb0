// The packing of codes as CUDA text: the inverse of a decode plan.
#ifndef HEDDLE_GENERATOR_DECODE_ENCODE_TEXT_H_
#define HEDDLE_GENERATOR_DECODE_ENCODE_TEXT_H_

#include <string>

#include "generator/decode/decode_plan.h"

namespace heddle {

// "struct Encode { ... };" with the function unit(), from the codes of a unit's tiles to its words,
// one line for all the bits that travel the same way.
std::string encode_text(const DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_ENCODE_TEXT_H_
