// Packing and unpacking the codes of a chunk.
#ifndef HEDDLE_GENERATOR_LAYOUT_CODE_MOVER_H_
#define HEDDLE_GENERATOR_LAYOUT_CODE_MOVER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "generator/decode/bit_order.h"
#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "generator/layout/fragment_order.h"
#include "generator/layout/pack_pairs.h"
#include "generator/layout/padding_code.h"
#include "generator/layout/plain_sizes.h"
#include "generator/layout/row_order.h"
#include "generator/layout/swizzled_rows.h"
#include "heddle/weights.h"

namespace heddle {

// A tile of 16 rows, the A operand of a matrix instruction.
struct FragmentTile {
  int columns;
  int elements;  // of one lane
};

// Where the bits of the codes lie, and no more of a plan: the order inside a word does not depend
// on the destination's type, and deriving operations for each panel of rows takes its time.
// The order swizzle_128b has no words: nothing.
inline DecodePlan bit_places(const WeightSpec& weight) {
  DecodePlan plan;
  if (weight.interleave == Interleave::kSwizzle128b) return plan;
  const bool to_bytes = weight.interleave == Interleave::kByteFragment;
  plan.request = decode_request(weight, to_bytes ? DType::kInt8 : DType::kFp16);
  set_bit_order(plan);
  return plan;
}

// Packed is `std::uint8_t` when packing and `const std::uint8_t` when unpacking.
template <class Packed>
class CodeMover {
 public:
  static constexpr bool kPacking = !std::is_const_v<Packed>;
  using Code = std::conditional_t<kPacking, const std::uint8_t, std::uint8_t>;

  // `weight`: with its interleave settled. `codes`: QuantizedWeights::codes, [rows.n][k].
  CodeMover(const WeightSpec& weight, const RowOrder& rows, std::int64_t k, Code* codes)
      : weight_(weight),
        rows_(rows),
        k_(k),
        code_bytes_(static_cast<std::int64_t>(code_bytes(weight))),
        plan_(bit_places(weight)),
        tile_(is_to_bytes() ? FragmentTile{32, 16} : FragmentTile{16, 8}),
        mask_((1u << weight.bits) - 1),
        pack_chunk_(has_words() ? chunk_packer(plan_) : nullptr),
        codes_(codes) {}

  // The codes of a row block's columns from `first_column` on.
  void move(Packed* chunk, std::int64_t block, std::int64_t first_column) {
    if (weight_.interleave == Interleave::kSwizzle128b) {
      return move_rows(chunk, block, first_column);
    }
    if constexpr (kPacking) {
      if (pack_chunk_ != nullptr && (block + 1) * WeightLayout::kRowBlock <= rows_.n &&
          first_column + WeightLayout::kChunkK <= k_) {
        const auto row = [&](int i) { return place(rows_.row_of(block, i), first_column); };
        pack_chunk_({row(0), row(8), k_ * code_bytes_}, chunk);
        return;
      }
    }
    for (int half = 0; half < 2; ++half) {
      for (int lane = 0; lane < kLanes; ++lane) {
        move_lane(chunk, half, lane, block, first_column + half * kHalfK);
      }
    }
  }

  Code* place(std::int64_t row, std::int64_t column) const {
    return codes_ + code_bytes_ * (row * k_ + column);
  }

 private:
  static constexpr int kLanes = 32;

  bool is_to_bytes() const { return weight_.interleave == Interleave::kByteFragment; }
  // Whether a chunk has the words of its lanes one after the other.
  bool has_words() const {
    return weight_.interleave != Interleave::kTrtllm &&
           weight_.interleave != Interleave::kSwizzle128b;
  }

  void move_rows(Packed* chunk, std::int64_t block, std::int64_t first_column) {
    const auto columns = std::min<std::int64_t>(WeightLayout::kChunkK, k_ - first_column);
    move_swizzled_rows(chunk, static_cast<int>(columns), [&](int i) -> Code* {
      const std::int64_t row = rows_.row_of(block, i);
      return row < rows_.n ? place(row, first_column) : nullptr;
    });
  }

  int word_offset(int half, int lane, int i) const {
    if (weight_.interleave == Interleave::kTrtllm) {
      return trtllm_word_offset(weight_.bits, half, lane, i);
    }
    return half * kHalfK * weight_.bits * WeightLayout::kRowBlock / 8 +
           lane_word_offset(weight_.bits, lane, i);
  }

  // One lane's words of 64 columns, unit by unit.
  void move_lane(Packed* chunk, int half, int lane, std::int64_t block, std::int64_t first_column) {
    const int unit_columns = plan_.elements() / tile_.elements * tile_.columns;
    for (int unit = 0; unit * unit_columns < kHalfK; ++unit) {
      std::vector<std::uint32_t>& words = unit_words_;
      words.assign(static_cast<std::size_t>(plan_.words), 0);
      const auto at = [&](int i) {
        return chunk + word_offset(half, lane, unit * plan_.words + i);
      };
      if constexpr (!kPacking) {
        for (int i = 0; i < plan_.words; ++i) std::memcpy(&words[i], at(i), 4);
      }
      move_unit(words, lane, block, first_column + unit * unit_columns);
      if constexpr (kPacking) {
        for (int i = 0; i < plan_.words; ++i) std::memcpy(at(i), &words[i], 4);
      }
    }
  }

  void move_unit(std::vector<std::uint32_t>& words, int lane, std::int64_t block,
                 std::int64_t first_column) {
    for (int e = 0; e < plan_.elements(); ++e) {
      const int of_tile = e % tile_.elements;
      const FragmentElement element =
          is_to_bytes() ? byte_fragment_element(lane, of_tile) : fragment_element(lane, of_tile);
      const std::int64_t row = rows_.row_of(block, element.row);
      const std::int64_t column =
          first_column + e / tile_.elements * tile_.columns + element.column;
      const bool inside = row < rows_.n && column < k_;
      if constexpr (kPacking) {
        std::uint32_t code = padding_code(weight_);
        if (inside) code = read_plain(place(row, column)) & mask_;
        write_code(plan_, e, code, words);
      } else if (inside) {
        write_plain(place(row, column), read_code(plan_, words, e));
      }
    }
  }

  // Codes of two bytes are in native byte order.
  std::uint32_t read_plain(const std::uint8_t* at) const {
    if (code_bytes_ == 1) return *at;
    std::uint16_t code = 0;
    std::memcpy(&code, at, sizeof code);
    return code;
  }
  void write_plain(std::uint8_t* at, std::uint32_t code) const {
    if (code_bytes_ == 1) {
      *at = static_cast<std::uint8_t>(code);
    } else {
      const auto wide = static_cast<std::uint16_t>(code);
      std::memcpy(at, &wide, sizeof wide);
    }
  }

  const WeightSpec weight_;
  const RowOrder rows_;
  const std::int64_t k_;
  const std::int64_t code_bytes_;
  const DecodePlan plan_;
  const FragmentTile tile_;
  const std::uint32_t mask_;
  const PackChunk pack_chunk_;  // for whole chunks; null: the slow way only
  Code* const codes_;
  std::vector<std::uint32_t> unit_words_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_CODE_MOVER_H_
