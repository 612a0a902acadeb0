// A decode plan as CUDA text.
#ifndef HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_
#define HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_

#include <string>

#include "heddle/decode_plan.h"

namespace heddle {

// "struct Decode { ... };" instruction by instruction. It needs primitives/bits.cuh, half.cuh and a
// Config with the type Value (Fp16 or Bf16). Its members:
//   kTiles                             16 by 16 tiles in a unit
//   kZeroRegisters                     subtrahends that stand for the zero points of a unit
//   unit(words, i, z, a)               unit i of a run of four tiles, whose words are all of
//   `words` zeros(u32, z)                      the zero points of a unit in one word zeros(const
//   u32 (&words)[n], z)    the same where they take n > 1 words
std::string decode_text(const DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_DECODE_TEXT_H_
