// The bits of two codes that become the halves of one register.
#ifndef HEDDLE_GENERATOR_DECODE_PAIR_BITS_H_
#define HEDDLE_GENERATOR_DECODE_PAIR_BITS_H_

#include <vector>

#include "generator/decode/field_number.h"
#include "generator/decode/registers.h"

namespace heddle {

// Which bits of which sources they are, low half first.
using PairBits = std::vector<BitPlace>[2];

// Bits [first, first + count) of both codes, bit 0 of a code to its half's position.
inline Placement moved(const PairBits& bits, Position p, int first, int count) {
  Placement result;
  for (int half = 0; half < 2; ++half) {
    const int to = 16 * half + (half == 0 ? p.low : p.high);
    for (int j = first; j < first + count; ++j) {
      result.moves.push_back({bits[half][j].word, bits[half][j].bit, to + j});
    }
  }
  return result;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_PAIR_BITS_H_
