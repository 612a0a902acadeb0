// Packing and unpacking what stands beside the codes: scales and zero points of groups and
// channels, and the sums of rows.
#ifndef HEDDLE_GENERATOR_LAYOUT_SCALE_MOVER_H_
#define HEDDLE_GENERATOR_LAYOUT_SCALE_MOVER_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "generator/layout/fragment_order.h"
#include "generator/layout/groups.h"
#include "generator/layout/row_order.h"
#include "heddle/weights.h"

namespace heddle {

// Packed is `std::uint8_t` when packing and `const std::uint8_t` when unpacking. Rows past the end
// of W are left as they are.
template <class Packed>
class ScaleMover {
 public:
  static constexpr bool kPacking = !std::is_const_v<Packed>;
  using Plain = std::conditional_t<kPacking, const QuantizedWeights, QuantizedWeights>;

  ScaleMover(const WeightSpec& weight, const WeightLayout& layout, const RowOrder& rows,
             std::int64_t k, Plain& plain)
      : weight_(weight),
        layout_(layout),
        rows_(rows),
        k_(k),
        groups_(groups_along_k(weight, k)),
        mask_((1u << weight.bits) - 1),
        plain_(plain) {}

  // Entry `entry` of the chunk, that of group `group`.
  void move_entry(Packed* chunk, int entry, std::int64_t block, std::int64_t group) const {
    move_scales(chunk + layout_.scale_offset + entry * layout_.scale_bytes, block, group);
    move_zeros(chunk + layout_.zero_offset + entry * layout_.zero_bytes, block, group);
  }

  // channel(block). `codes_of(row)`: the codes of a row of W; asked for when packing only.
  template <class CodesOf>
  void move_channel(Packed* channel, std::int64_t block, const CodesOf& codes_of) const {
    if (weight_.has_two_levels()) return move_channel_scales(channel, block);
    move_scales(channel, block, 0);
    move_zeros(channel + layout_.channel_zero_offset, block, 0);
    if constexpr (kPacking) {
      put_row_sums(channel + layout_.channel_sum_offset, block, codes_of);
    }
  }

 private:
  // Where the scale of a row's group is among the plain scales.
  std::int64_t scale_index(std::int64_t row, std::int64_t group) const {
    return weight_.group_size == kPerTensor ? 0 : row * groups_ + group;
  }

  void move_scales(Packed* at, std::int64_t block, std::int64_t group) const {
    move_rows(at, block, layout_.scale_bytes / WeightLayout::kRowBlock, plain_.scales,
              [&](std::int64_t row) { return scale_index(row, group); });
  }

  void move_channel_scales(Packed* at, std::int64_t block) const {
    move_rows(at, block, bytes_of(*weight_.channel_scale), plain_.channel_scales,
              [](std::int64_t row) { return row; });
  }

  // A value of so many bytes for each row of the row block; `index_of(row)`: which of `values`.
  template <class Values, class IndexOf>
  void move_rows(Packed* at, std::int64_t block, int bytes, Values& values,
                 const IndexOf& index_of) const {
    switch (bytes) {
      case 1:
        return move_rows<1>(at, block, values, index_of);
      case 2:
        return move_rows<2>(at, block, values, index_of);
      default:
        return move_rows<4>(at, block, values, index_of);
    }
  }

  // Rows g and g + 8 side by side: a lane needs both.
  template <int bytes, class Values, class IndexOf>
  void move_rows(Packed* at, std::int64_t block, Values& values, const IndexOf& index_of) const {
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = rows_.row_of(block, i);
      if (row >= rows_.n) continue;
      Packed* slot = at + row_slot(i) * bytes;
      auto* plain = values.data() + index_of(row) * bytes;
      if constexpr (kPacking) {
        std::memcpy(slot, plain, bytes);
      } else {
        std::memcpy(plain, slot, bytes);
      }
    }
  }

  // For int8 codes.
  template <class CodesOf>
  void put_row_sums(std::uint8_t* at, std::int64_t block, const CodesOf& codes_of) const {
    if (layout_.channel_sum_offset == 0) return;
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = rows_.row_of(block, i);
      if (row >= rows_.n) continue;
      const std::uint8_t* const codes = codes_of(row);
      std::int32_t sum = 0;
      for (std::int64_t c = 0; c < k_; ++c) sum += static_cast<std::int8_t>(codes[c]);
      std::memcpy(at + row_slot(i) * sizeof sum, &sum, sizeof sum);
    }
  }

  // Floats lie as scales do; integers as one pair of neighbouring fields for rows g and g + 8, in
  // one byte or two.
  void move_zeros(Packed* at, std::int64_t block, std::int64_t group) const {
    if (layout_.zero_bytes == 0) return;
    if (weight_.zero_point == ZeroPoint::kFloat) {
      return move_rows(at, block, layout_.scale_bytes / WeightLayout::kRowBlock, plain_.zeros,
                       [&](std::int64_t row) { return scale_index(row, group); });
    }
    const int bytes = layout_.zero_bytes / 8;
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = rows_.row_of(block, i);
      if (row >= rows_.n) continue;
      const int shift = i / 8 * weight_.bits;
      std::uint16_t pair = 0;
      std::memcpy(&pair, at + i % 8 * bytes, bytes);
      if constexpr (kPacking) {
        pair |=
            static_cast<std::uint16_t>((plain_.zeros[scale_index(row, group)] & mask_) << shift);
        std::memcpy(at + i % 8 * bytes, &pair, bytes);
      } else {
        plain_.zeros[scale_index(row, group)] = static_cast<std::uint8_t>(pair >> shift & mask_);
      }
    }
  }

  const WeightSpec weight_;
  const WeightLayout layout_;
  const RowOrder rows_;
  const std::int64_t k_;
  const std::int64_t groups_;
  const std::uint32_t mask_;
  Plain& plain_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_SCALE_MOVER_H_
