// A decode plan as CUDA text.
#ifndef HEDDLE_GENERATOR_DECODE_DECODE_TEXT_H_
#define HEDDLE_GENERATOR_DECODE_DECODE_TEXT_H_

#include <string>
#include <string_view>

#include "generator/decode/decode_plan.h"

namespace heddle {

// "struct Decode { ... };" instruction by instruction. It needs primitives/bits.cuh, half.cuh and
// the type `value` (Fp16 or Bf16). Its members:
// - kTiles: 16 by 16 tiles in a unit.
// - kGroupRegisters: what a unit takes of a group.
// - kScales: whether it multiplies by the scale.
// - unit(words, i, g, a): unit i of words, for the group g, into the A operands a.
// - group(r0, g), or group(words, g) where there are several: g, from the group's zero points or
//   scales.
std::string decode_text(const DecodePlan& plan, std::string_view value = "Config::Value");

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_DECODE_TEXT_H_
