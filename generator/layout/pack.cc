// Packing and unpacking: one walk over the layout, in which each piece of data is moved one way or
// the other.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "generator/decode/bit_order.h"
#include "generator/layout/block_scales.h"
#include "generator/layout/fragment_order.h"
#include "generator/layout/groups.h"
#include "generator/layout/pack_pairs.h"
#include "generator/layout/padding_code.h"
#include "generator/layout/plain_sizes.h"
#include "generator/layout/swizzled_rows.h"
#include "generator/layout/two_levels.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/inspect/decode_plan.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr int kLanes = 32;

// A tile of 16 rows, the A operand of a matrix instruction.
struct Tile {
  int columns;
  int elements;  // of one lane
};
constexpr Tile kTile{16, 8}, kByteTile{32, 16};

// Where the bits of the codes lie, and no more of a plan: the order inside a word does not depend
// on the destination's type, and deriving operations for each panel of rows takes its time.
// Of the order swizzle_128b, which has no words, nothing.
DecodePlan bit_places(const WeightSpec& weight) {
  DecodePlan plan;
  if (weight.interleave == Interleave::kSwizzle128b) return plan;
  const bool to_bytes = weight.interleave == Interleave::kByteFragment;
  plan.request = decode_request(weight, to_bytes ? DType::kInt8 : DType::kFp16);
  set_bit_order(plan);
  return plan;
}

// In the order of a gemm's activations.
WeightSpec settled_weight(const GemmSpec& spec) {
  WeightSpec weight = spec.weight;
  weight.interleave = settled_interleave(spec);
  return weight;
}

// Packed is `std::uint8_t` when packing and `const std::uint8_t` when unpacking.
template <class Packed>
class Walk {
 public:
  static constexpr bool kPacking = !std::is_const_v<Packed>;
  using Plain = std::conditional_t<kPacking, const QuantizedWeights, QuantizedWeights>;
  using Code = std::conditional_t<kPacking, const std::uint8_t, std::uint8_t>;

  Walk(const GemmSpec& spec, Packed* packed, Plain& plain)
      : weight_(settled_weight(spec)),
        gated_(spec.epilogue.gated),
        n_(spec.shape.n),
        k_(spec.shape.k),
        code_bytes_(static_cast<std::int64_t>(code_bytes(spec.weight))),
        layout_(weight_layout(spec)),
        plan_(bit_places(weight_)),
        tile_(is_to_bytes() ? kByteTile : kTile),
        mask_((1u << weight_.bits) - 1),
        pack_chunk_(has_words() ? chunk_packer(plan_) : nullptr),
        groups_(groups_along_k(weight_, k_)),
        packed_(packed),
        plain_(plain) {}

  void run() {
    for (std::int64_t block = 0; block < layout_.row_blocks; ++block) {
      for (std::int64_t c = 0; c < layout_.chunks_per_row_block; ++c) {
        Packed* chunk = packed_ + (block * layout_.chunks_per_row_block + c) * layout_.chunk_bytes;
        move_codes(chunk, block, c * WeightLayout::kChunkK);
        for (int g = 0; g < layout_.groups_per_chunk; ++g) {
          const std::int64_t column = c * WeightLayout::kChunkK + first_column_of_entry(layout_, g);
          if (column >= k_) continue;
          const std::int64_t group = group_of_column(weight_, column);
          move_scales(chunk + layout_.scale_offset + g * layout_.scale_bytes, block, group);
          move_zeros(chunk + layout_.zero_offset + g * layout_.zero_bytes, block, group);
        }
      }
      if (layout_.channel_bytes != 0) {
        Packed* channel = packed_ + layout_.channel_offset + block * layout_.channel_bytes;
        if (weight_.has_two_levels()) {
          move_channel_scales(channel, block);
          continue;
        }
        move_scales(channel, block, 0);
        move_zeros(channel + layout_.channel_zero_offset, block, 0);
        if constexpr (kPacking) put_row_sums(channel + layout_.channel_sum_offset, block);
      }
    }
    move_block_scales(packed_, layout_, n_, plain_.scales.data(),
                      [&](std::int64_t block, int i) { return row_of(block, i); });
  }

 private:
  // Where the scale of a row's group is among the plain scales.
  std::int64_t scale_index(std::int64_t row, std::int64_t group) const {
    return weight_.group_size == kPerTensor ? 0 : row * groups_ + group;
  }

  // Which row of W row i of a row block is. Of a gated epilogue the first half of W's rows are
  // gates, the second half ups, and a block has eight gates and their ups.
  std::int64_t row_of(std::int64_t block, int i) const {
    constexpr int kHalfRows = WeightLayout::kRowBlock / 2;
    if (!gated_) return block * WeightLayout::kRowBlock + i;
    return block * kHalfRows + i % kHalfRows + (i < kHalfRows ? 0 : n_ / 2);
  }

  bool is_to_bytes() const { return weight_.interleave == Interleave::kByteFragment; }
  // Whether a chunk has the words of its lanes one after the other.
  bool has_words() const {
    return weight_.interleave != Interleave::kTrtllm &&
           weight_.interleave != Interleave::kSwizzle128b;
  }

  void move_rows(Packed* chunk, std::int64_t block, std::int64_t first_column) {
    const auto columns = std::min<std::int64_t>(WeightLayout::kChunkK, k_ - first_column);
    move_swizzled_rows(chunk, static_cast<int>(columns), [&](int i) -> Code* {
      const std::int64_t row = row_of(block, i);
      return row < n_ ? code_place(row, first_column) : nullptr;
    });
  }

  void move_codes(Packed* chunk, std::int64_t block, std::int64_t first_column) {
    if (weight_.interleave == Interleave::kSwizzle128b) {
      return move_rows(chunk, block, first_column);
    }
    if constexpr (kPacking) {
      if (pack_chunk_ != nullptr && (block + 1) * WeightLayout::kRowBlock <= n_ &&
          first_column + WeightLayout::kChunkK <= k_) {
        const auto row = [&](int i) { return code_place(row_of(block, i), first_column); };
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
      const FragmentElement place =
          is_to_bytes() ? byte_fragment_element(lane, of_tile) : fragment_element(lane, of_tile);
      const std::int64_t row = row_of(block, place.row);
      const std::int64_t column = first_column + e / tile_.elements * tile_.columns + place.column;
      const bool inside = row < n_ && column < k_;
      if constexpr (kPacking) {
        std::uint32_t code = padding_code(weight_);
        if (inside) code = read_plain(code_place(row, column)) & mask_;
        write_code(plan_, e, code, words);
      } else if (inside) {
        write_plain(code_place(row, column), read_code(plan_, words, e));
      }
    }
  }

  Code* code_place(std::int64_t row, std::int64_t column) const {
    return plain_.codes.data() + code_bytes_ * (row * k_ + column);
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

  void move_scales(Packed* at, std::int64_t block, std::int64_t group) {
    move_row_values(at, block, group, plain_.scales);
  }

  template <class Values>
  void move_row_values(Packed* at, std::int64_t block, std::int64_t group, Values& values) {
    switch (layout_.scale_bytes / WeightLayout::kRowBlock) {
      case 1:
        return move_row_values<1>(at, block, group, values);
      case 2:
        return move_row_values<2>(at, block, group, values);
      default:
        return move_row_values<4>(at, block, group, values);
    }
  }

  // Rows g and g + 8 side by side: a lane needs both.
  template <int bytes, class Values>
  void move_row_values(Packed* at, std::int64_t block, std::int64_t group, Values& values) {
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = row_of(block, i);
      if (row >= n_) continue;
      Packed* slot = at + row_slot(i) * bytes;
      auto* plain = values.data() + scale_index(row, group) * bytes;
      if constexpr (kPacking) {
        std::memcpy(slot, plain, bytes);
      } else {
        std::memcpy(plain, slot, bytes);
      }
    }
  }

  void move_channel_scales(Packed* at, std::int64_t block) {
    const int bytes = bytes_of(*weight_.channel_scale);
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = row_of(block, i);
      if (row >= n_) continue;
      Packed* slot = at + row_slot(i) * bytes;
      auto* plain = plain_.channel_scales.data() + row * bytes;
      if constexpr (kPacking) {
        std::memcpy(slot, plain, bytes);
      } else {
        std::memcpy(plain, slot, bytes);
      }
    }
  }

  // Of int8 codes.
  void put_row_sums(std::uint8_t* at, std::int64_t block) const {
    if (layout_.channel_sum_offset == 0) return;
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = row_of(block, i);
      if (row >= n_) continue;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < k_; ++k) sum += static_cast<std::int8_t>(*code_place(row, k));
      std::memcpy(at + row_slot(i) * sizeof sum, &sum, sizeof sum);
    }
  }

  // Floats lie as scales do; integers as one pair of neighbouring fields for rows g and g + 8, in
  // one byte or two.
  void move_zeros(Packed* at, std::int64_t block, std::int64_t group) {
    if (layout_.zero_bytes == 0) return;
    if (weight_.zero_point == ZeroPoint::kFloat) {
      return move_row_values(at, block, group, plain_.zeros);
    }
    const int bytes = layout_.zero_bytes / 8;
    for (int i = 0; i < WeightLayout::kRowBlock; ++i) {
      const std::int64_t row = row_of(block, i);
      if (row >= n_) continue;
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
  const bool gated_;
  const std::int64_t n_;
  const std::int64_t k_;
  const std::int64_t code_bytes_;
  const WeightLayout layout_;
  const DecodePlan plan_;
  const Tile tile_;
  const std::uint32_t mask_;
  const PackChunk pack_chunk_;  // for whole chunks; null: the slow way only
  const std::int64_t groups_;
  Packed* packed_;
  Plain& plain_;
  std::vector<std::uint32_t> unit_words_;
};

}  // namespace

std::vector<std::uint8_t> pack_weights(const GemmSpec& spec, const QuantizedWeights& weights) {
  expect_plain_sizes(spec, {weights.codes.size(), weights.scales.size(), weights.zeros.size(),
                            weights.channel_scales.size()});
  if (spec.weight.has_two_levels()) expect_group_scales(spec, weights);
  std::vector<std::uint8_t> packed(weight_layout(spec).total_bytes);
  Walk<std::uint8_t>(spec, packed.data(), weights).run();
  if (spec.weight.tensor_scale) {
    std::memcpy(packed.data() + weight_layout(spec).tensor_offset, &weights.tensor_scale, 4);
  }
  return packed;
}

QuantizedWeights unpack_weights(const GemmSpec& spec, const std::uint8_t* packed,
                                std::size_t packed_bytes) {
  const PlainSizes sizes = plain_sizes(spec);
  expect_size("packed weights", packed_bytes, weight_layout(spec).total_bytes);
  QuantizedWeights weights;
  weights.codes.resize(sizes.codes);
  weights.scales.resize(sizes.scales);
  weights.zeros.resize(sizes.zeros);
  weights.channel_scales.resize(sizes.channel_scales);
  Walk<const std::uint8_t>(spec, packed, weights).run();
  if (spec.weight.tensor_scale) {
    std::memcpy(&weights.tensor_scale, packed + weight_layout(spec).tensor_offset, 4);
  }
  return weights;
}

}  // namespace heddle
