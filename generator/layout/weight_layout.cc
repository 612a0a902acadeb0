#include <fmt/format.h>

#include <numeric>

#include "generator/ceil_div.h"
#include "generator/layout/groups.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

int round_up_16(int bytes) { return (bytes + 15) / 16 * 16; }
constexpr int kTensorBytes = 16;  // an FP32 scale, padded

// Zero points of X are multiplied by them.
bool has_row_sums(const WeightSpec& weight) {
  return weight.interleave == Interleave::kSwizzle128b && weight.type == WeightType::kInt;
}

std::size_t all_chunk_bytes(const WeightLayout& layout) {
  return static_cast<std::size_t>(layout.row_blocks) *
         static_cast<std::size_t>(layout.chunks_per_row_block) *
         static_cast<std::size_t>(layout.chunk_bytes);
}

// Nothing but weights in chunks; `layout` has their sizes.
WeightLayout without_scales(WeightLayout layout) {
  layout.meta_group = WeightLayout::kChunkK;
  layout.zero_offset = layout.chunk_bytes = layout.scale_offset;
  layout.tensor_offset = layout.total_bytes = layout.channel_offset = all_chunk_bytes(layout);
  return layout;
}

// As above, with scales of blocks behind the chunks.
WeightLayout with_blocks(const WeightLayout& chunks) {
  WeightLayout layout = without_scales(chunks);
  layout.block_bytes = 2 * static_cast<int>(sizeof(float));
  const std::int64_t tiles =
      ceil_div(layout.row_blocks, WeightLayout::kTileRows / WeightLayout::kRowBlock);
  const std::int64_t bytes = tiles * layout.chunks_per_row_block * layout.block_bytes;
  layout.tensor_offset += static_cast<std::size_t>(ceil_div(bytes, 16) * 16);
  layout.total_bytes = layout.tensor_offset;
  return layout;
}

}  // namespace

void check_layout_version(const WeightSpec& weight, int version) {
  if (version == kLayoutVersion) return;
  throw Error(ErrorCategory::kUsage, "weights.layout_version",
              fmt::format("weights of {} bits ({}) that version {} of the layout packed, and this "
                          "library reads version {}: pack them again",
                          weight.bits, to_string(weight.type), version, kLayoutVersion));
}

WeightLayout weight_layout(const GemmSpec& spec) {
  WeightSpec weight = spec.weight;
  weight.interleave = settled_interleave(spec);
  return weight_layout({spec.shape.n, spec.shape.k}, weight);
}

WeightLayout weight_layout(const MatrixShape& shape, const WeightSpec& weight) {
  WeightLayout layout;
  layout.row_blocks = ceil_div(shape.n, WeightLayout::kRowBlock);
  layout.chunks_per_row_block = ceil_div(shape.k, WeightLayout::kChunkK);
  layout.scale_offset = WeightLayout::kRowBlock * WeightLayout::kChunkK * weight.bits / 8;
  if (!weight.has_scales()) return without_scales(layout);
  if (weight.has_blocks()) return with_blocks(layout);
  layout.scale_bytes = WeightLayout::kRowBlock * bytes_of(weight.scale_dtype);
  // A pair of integer zero points takes one byte up to 4 bits, two above.
  if (weight.zero_point == ZeroPoint::kInt) layout.zero_bytes = weight.bits <= 4 ? 8 : 16;
  if (weight.zero_point == ZeroPoint::kFloat) layout.zero_bytes = layout.scale_bytes;
  // One scale for the tensor is kept as one for each channel: kernels know one case less.
  const bool per_channel = weight.group_size == kPerChannel || weight.group_size == kPerTensor;
  layout.meta_group =
      per_channel ? WeightLayout::kChunkK : std::gcd(weight.group_size, WeightLayout::kChunkK);
  // A group wider than an entry has its scale in each of its entries. Where groups begin between
  // the multiples of an entry's columns, so do entries: a chunk's first entry is then cut short,
  // and one more has the chunk's last columns.
  if (!per_channel) {
    layout.entry_offset = weight.group_offset % layout.meta_group;
    layout.groups_per_chunk = entry_of_column(layout, WeightLayout::kChunkK - 1) + 1;
  }
  layout.zero_offset = layout.scale_offset + layout.groups_per_chunk * layout.scale_bytes;
  layout.chunk_bytes =
      round_up_16(layout.zero_offset + layout.groups_per_chunk * layout.zero_bytes);
  if (layout.zero_bytes == 0) layout.zero_offset = layout.chunk_bytes;
  layout.channel_offset = all_chunk_bytes(layout);
  if (per_channel) {
    layout.channel_zero_offset = layout.scale_bytes;
    layout.channel_bytes = round_up_16(layout.scale_bytes + layout.zero_bytes);
    if (has_row_sums(weight)) {
      layout.channel_sum_offset = layout.channel_bytes;
      layout.channel_bytes += WeightLayout::kRowBlock * static_cast<int>(sizeof(std::int32_t));
    }
  } else if (weight.has_two_levels()) {
    layout.channel_bytes = WeightLayout::kRowBlock * bytes_of(*weight.channel_scale);
  }
  layout.tensor_offset = layout.channel_offset + static_cast<std::size_t>(layout.row_blocks) *
                                                     static_cast<std::size_t>(layout.channel_bytes);
  layout.total_bytes = layout.tensor_offset + (weight.tensor_scale ? kTensorBytes : 0);
  return layout;
}

}  // namespace heddle
