// Where the integer zero points of a group lie.
#ifndef HEDDLE_GENERATOR_DECODE_ZERO_PLACES_H_
#define HEDDLE_GENERATOR_DECODE_ZERO_PLACES_H_

#include <vector>

#include "generator/decode/decode_plan.h"

namespace heddle {

inline bool zeros_by_element(const DecodeRequest& request) {
  return request.zero_order == ZeroOrder::kElements;
}

// The row of a register of the result: 0 for row g, which a0 and a2 hold, 1 for row g + 8.
inline int row_of_pair(int pair) { return pair % 2; }

// The bits of the zero point of a register's half, in the words of the group.
inline std::vector<BitPlace> zero_places(const DecodePlan& plan, int pair, int half) {
  if (zeros_by_element(plan.request)) return plan.bit_of[2 * pair + half];
  std::vector<BitPlace> places(plan.request.bits);
  for (int j = 0; j < plan.request.bits; ++j) {
    places[j].bit = 16 * half + row_of_pair(pair) * plan.request.bits + j;
  }
  return places;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_ZERO_PLACES_H_
