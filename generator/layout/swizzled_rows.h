// Where each code of a chunk lies in the order swizzle_128b, whose codes are multiplied as they
// are.
#ifndef HEDDLE_GENERATOR_LAYOUT_SWIZZLED_ROWS_H_
#define HEDDLE_GENERATOR_LAYOUT_SWIZZLED_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "heddle/weights.h"

namespace heddle {

// Codes of eight bits in rows of 128 bytes: byte offset in the chunk of a row and a column. The
// 16-byte units of a row are permuted as the 128-byte swizzle of tensor copies does it.
inline constexpr int kSwizzleUnit = 16;
constexpr int swizzled_offset(int row, int column) {
  constexpr int kRowBytes = 128;
  const int unit = (column / kSwizzleUnit) ^ (row % 8);
  return row * kRowBytes + unit * kSwizzleUnit + column % kSwizzleUnit;
}

// Moves the codes of a chunk's first `columns` columns: into it, or, if it is const, out of it.
// `codes_of(i)`: where those of its row i lie one after the other; null past the end of W.
template <class Packed, class CodesOf>
void move_swizzled_rows(Packed* chunk, int columns, const CodesOf& codes_of) {
  for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
    auto* const codes = codes_of(i);
    for (int c = 0; codes != nullptr && c < columns; c += kSwizzleUnit) {
      Packed* const unit = chunk + swizzled_offset(i, c);
      const auto count = static_cast<std::size_t>(std::min(kSwizzleUnit, columns - c));
      if constexpr (std::is_const_v<Packed>) {
        std::memcpy(codes + c, unit, count);
      } else {
        std::memcpy(unit, codes + c, count);
      }
    }
  }
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_SWIZZLED_ROWS_H_
