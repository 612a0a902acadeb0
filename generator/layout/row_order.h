// Which row of W each row of a row block holds.
#ifndef HEDDLE_GENERATOR_LAYOUT_ROW_ORDER_H_
#define HEDDLE_GENERATOR_LAYOUT_ROW_ORDER_H_

#include <cstdint>

#include "heddle/weights.h"

namespace heddle {

struct RowOrder {
  std::int64_t n;  // rows of W
  bool gated;

  // The row of W that row `i` of row block `block` holds; n or more past the end of W. With a gated
  // epilogue the first half of the rows of W are gates and the second half ups, and a row block
  // holds eight gates and their ups.
  constexpr std::int64_t row_of(std::int64_t block, int i) const {
    constexpr int kHalfRows = WeightLayout::kRowBlock / 2;
    if (!gated) return block * WeightLayout::kRowBlock + i;
    return block * kHalfRows + i % kHalfRows + (i < kHalfRows ? 0 : n / 2);
  }
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_ROW_ORDER_H_
