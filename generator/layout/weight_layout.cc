#include <algorithm>

#include "heddle/weights.h"

namespace heddle {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
int round_up_16(int bytes) { return (bytes + 15) / 16 * 16; }
int bytes_of(DType dtype) { return dtype == DType::kFp32 ? 4 : 2; }

}  // namespace

WeightLayout weight_layout(const GemmSpec& spec) {
  const WeightSpec& weight = spec.weight;
  WeightLayout layout;
  layout.row_blocks = ceil_div(spec.shape.n, WeightLayout::kRowBlock);
  layout.chunks_per_row_block = ceil_div(spec.shape.k, WeightLayout::kChunkK);
  layout.scale_offset = WeightLayout::kRowBlock * WeightLayout::kChunkK * weight.bits / 8;
  layout.scale_bytes = WeightLayout::kRowBlock * bytes_of(weight.scale_dtype);
  // A pair of zero points takes one byte up to 4 bits, two above.
  if (weight.zero_point == ZeroPoint::kInt) layout.zero_bytes = weight.bits <= 4 ? 8 : 16;
  const bool per_channel = weight.group_size == kPerChannel;
  if (!per_channel) {
    // A group wider than a chunk has its scale in each of its chunks.
    layout.groups_per_chunk = std::max(1, WeightLayout::kChunkK / weight.group_size);
  }
  layout.zero_offset = layout.scale_offset + layout.groups_per_chunk * layout.scale_bytes;
  layout.chunk_bytes =
      round_up_16(layout.zero_offset + layout.groups_per_chunk * layout.zero_bytes);
  if (layout.zero_bytes == 0) layout.zero_offset = layout.chunk_bytes;
  layout.channel_offset = static_cast<std::size_t>(layout.row_blocks) *
                          static_cast<std::size_t>(layout.chunks_per_row_block) *
                          static_cast<std::size_t>(layout.chunk_bytes);
  if (per_channel) {
    layout.channel_zero_offset = layout.scale_bytes;
    layout.channel_bytes = round_up_16(layout.scale_bytes + layout.zero_bytes);
  }
  layout.total_bytes = layout.channel_offset + static_cast<std::size_t>(layout.row_blocks) *
                                                   static_cast<std::size_t>(layout.channel_bytes);
  return layout;
}

}  // namespace heddle
