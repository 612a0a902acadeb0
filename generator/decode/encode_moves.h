// Encode moves: the order of a decode plan the other way round, from codes to packed words.
//
// One list of moves gives the CUDA text of Encode and the host's evaluator. It is derived from
// DecodePlan::bit_of alone, as write_code() is, so that neither can disagree with the plan.
#ifndef HEDDLE_GENERATOR_DECODE_ENCODE_MOVES_H_
#define HEDDLE_GENERATOR_DECODE_ENCODE_MOVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"

namespace heddle {

// Where the code of an element starts: bit `bit` of register `reg` of a unit's codes. Register
// 2 * tile holds row g of a k tile, register 2 * tile + 1 row g + 8; the bytes of a register are
// columns 2t, 2t + 8, 2t + 1, 2t + 9. So elements that lie a half-word apart in the packed words do
// so here, too, and both move at once.
struct CodePlace {
  int reg = 0;
  int bit = 0;
};

constexpr CodePlace code_place(int element) {
  const int half = element % 2;
  const int a = element % 8 / 2;  // register of the A operand
  return {element / 8 * 2 + a % 2, 16 * half + 8 * (a / 2)};
}

// All bits that travel the same way: word |= (codes[reg] << shift) & mask, or >> -shift.
struct EncodeMove {
  int word = 0;
  int reg = 0;
  int shift = 0;
  std::uint32_t mask = 0;  // in the word
  std::string why;         // for the comment in the rendered code
};

// In the order of the words. Preconditions: codes have at most 8 bits, since weights of 16 are
// never quantised, and none above their width.
std::vector<EncodeMove> encode_moves(const DecodePlan& plan);

// Whether every bit that the register's codes can have travels with this move, so that there is
// nothing to mask.
bool moves_all(const DecodePlan& plan, const EncodeMove& move);

// Instructions per weight of the rendered text.
double encode_cost(const DecodePlan& plan);

// The words of a unit; `codes` has two registers for each tile of the unit.
std::vector<std::uint32_t> evaluate_encode(const DecodePlan& plan,
                                           const std::vector<std::uint32_t>& codes);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_ENCODE_MOVES_H_
