#include "generator/families/packed_layout.h"

#include "generator/layout/padding_code.h"

namespace heddle {

static_assert(device::Chunk::kRows == WeightLayout::kRowBlock);
static_assert(device::Chunk::kColumns == WeightLayout::kChunkK);
static_assert(device::PackedLayout::kTileRows == WeightLayout::kTileRows);
static_assert(device::PackedLayout::kBlockRows == kBlockRows);

namespace {

device::ChunkOrder chunk_order(Interleave interleave) {
  if (interleave == Interleave::kTrtllm) return device::ChunkOrder::kRowLines;
  if (interleave == Interleave::kSwizzle128b) return device::ChunkOrder::kSwizzledRows;
  return device::ChunkOrder::kWords;
}

}  // namespace

device::PackedLayout packed_layout(const WeightOpSpec& spec, const WeightLayout& layout) {
  const WeightSpec& weight = spec.weight;
  device::PackedLayout packed{};
  packed.bits = weight.bits;
  packed.row_blocks = static_cast<int>(layout.row_blocks);
  packed.chunks = static_cast<int>(layout.chunks_per_row_block);
  copy_chunk(layout, packed);
  packed.group =
      weight.group_size > 0 ? weight.group_size : packed.chunks * device::Chunk::kColumns;
  packed.group_offset = weight.group_offset;
  packed.entries = layout.groups_per_chunk;
  packed.channel_offset = static_cast<device::i64>(layout.channel_offset);
  packed.block_bytes = layout.block_bytes;
  packed.tensor_offset = static_cast<device::i64>(layout.tensor_offset);
  packed.padding_code = static_cast<int>(padding_code(weight));
  packed.order = chunk_order(weight.interleave);
  packed.gated = spec.gated;
  return packed;
}

}  // namespace heddle
