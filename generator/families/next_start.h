// Whether the next kernel may take its places on the SMs while this one runs.
#ifndef HEDDLE_GENERATOR_FAMILIES_NEXT_START_H_
#define HEDDLE_GENERATOR_FAMILIES_NEXT_START_H_

#include "generator/families/fields.h"
#include "steps/config.h"

namespace heddle {

// Two blocks of the next kernel, which is taken to have a column for each row of this one, fit on
// an SM with so many tokens: those SMs that are free first would get two, others none.
inline constexpr int kNextFewTokens = 4, kNextMoreTokens = 8;
inline constexpr int kNextColumns = 3072;

inline bool two_of_next_fit(const device::PackedWeights& weights) {
  return weights.row_blocks * device::Chunk::kRows <= kNextColumns;
}

// Up to so many tokens the next kernel should not start beside a block that fills its SM.
inline int most_tokens_alone(const device::PackedWeights& weights) {
  return two_of_next_fit(weights) ? kNextMoreTokens : kNextFewTokens;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_NEXT_START_H_
