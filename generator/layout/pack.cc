// Packing and unpacking: one walk over the layout, in which each piece of data is moved one way or
// the other.
#include <cstring>
#include <type_traits>

#include "generator/layout/block_scales.h"
#include "generator/layout/code_mover.h"
#include "generator/layout/groups.h"
#include "generator/layout/plain_sizes.h"
#include "generator/layout/row_order.h"
#include "generator/layout/scale_mover.h"
#include "generator/layout/two_levels.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// In the order of a gemm's activations.
WeightSpec settled_weight(const GemmSpec& spec) {
  WeightSpec weight = spec.weight;
  weight.interleave = settled_interleave(spec);
  return weight;
}

// `plain` is const when packing, `packed` when unpacking.
template <class Packed, class Plain>
void move_weights(const GemmSpec& spec, Packed* packed, Plain& plain) {
  const WeightSpec weight = settled_weight(spec);
  const WeightLayout layout = weight_layout(spec);
  const RowOrder rows{spec.shape.n, spec.epilogue.gated};
  const std::int64_t k = spec.shape.k;
  CodeMover<Packed> codes(weight, rows, k, plain.codes.data());
  const ScaleMover<Packed> scales(weight, layout, rows, k, plain);
  for (std::int64_t block = 0; block < layout.row_blocks; ++block) {
    for (std::int64_t c = 0; c < layout.chunks_per_row_block; ++c) {
      Packed* chunk = packed + (block * layout.chunks_per_row_block + c) * layout.chunk_bytes;
      codes.move(chunk, block, c * WeightLayout::kChunkK);
      for (int entry = 0; entry < layout.groups_per_chunk; ++entry) {
        const std::int64_t column =
            c * WeightLayout::kChunkK + first_column_of_entry(layout, entry);
        if (column >= k) continue;
        scales.move_entry(chunk, entry, block, group_of_column(weight, column));
      }
    }
    if (layout.channel_bytes != 0) {
      scales.move_channel(packed + layout.channel_offset + block * layout.channel_bytes, block,
                          [&](std::int64_t row) { return codes.place(row, 0); });
    }
  }
  move_block_scales(packed, layout, rows.n, plain.scales.data(),
                    [&](std::int64_t block, int i) { return rows.row_of(block, i); });
}

}  // namespace

std::vector<std::uint8_t> pack_weights(const GemmSpec& spec, const QuantizedWeights& weights) {
  expect_plain_sizes(spec, {weights.codes.size(), weights.scales.size(), weights.zeros.size(),
                            weights.channel_scales.size()});
  if (spec.weight.has_two_levels()) expect_group_scales(spec, weights);
  std::vector<std::uint8_t> packed(weight_layout(spec).total_bytes);
  move_weights(spec, packed.data(), weights);
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
  move_weights(spec, packed, weights);
  if (spec.weight.tensor_scale) {
    std::memcpy(&weights.tensor_scale, packed + weight_layout(spec).tensor_offset, 4);
  }
  return weights;
}

}  // namespace heddle
