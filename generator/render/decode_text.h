// A decode plan as CUDA text.
#ifndef HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_
#define HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_

#include <string>

#include "heddle/decode_plan.h"

namespace heddle {

// "struct Decode { ... };" with the functions unit() and zeros(), instruction by instruction.
std::string decode_text(const DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_
