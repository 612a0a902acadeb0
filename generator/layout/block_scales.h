// Where the scales of blocks lie in packed weights (WeightLayout::block_bytes).
#ifndef HEDDLE_GENERATOR_LAYOUT_BLOCK_SCALES_H_
#define HEDDLE_GENERATOR_LAYOUT_BLOCK_SCALES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "heddle/weights.h"

namespace heddle {

// Moves them from `scales`, [blocks along N][chunks] FP32, into the packed weights, or, if those
// are const, back; nothing where the layout has none. `row_of(b, i)`: the row of W that row i of
// row block b is.
template <class Packed, class Scales, class RowOf>
void move_block_scales(Packed* packed, const WeightLayout& layout, std::int64_t n, Scales* scales,
                       const RowOf& row_of) {
  constexpr int kRowBlocks = WeightLayout::kTileRows / WeightLayout::kRowBlock;
  constexpr int kHalfRows = WeightLayout::kRowBlock / 2;
  if (layout.block_bytes == 0) return;
  Packed* at = packed + layout.channel_offset;
  for (std::int64_t first = 0; first < layout.row_blocks; first += kRowBlocks) {
    for (std::int64_t c = 0; c < layout.chunks_per_row_block; ++c, at += layout.block_bytes) {
      for (const int half : {0, 1}) {
        const std::int64_t row = row_of(first, half * kHalfRows);
        if (row >= n) continue;
        const std::int64_t block = row / kBlockRows;
        Packed* const slot = at + half * sizeof(float);
        Scales* const plain =
            scales + (block * layout.chunks_per_row_block + c) * std::int64_t{sizeof(float)};
        if constexpr (std::is_const_v<Packed>) {
          std::memcpy(plain, slot, sizeof(float));
        } else {
          std::memcpy(slot, plain, sizeof(float));
        }
      }
    }
  }
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_BLOCK_SCALES_H_
