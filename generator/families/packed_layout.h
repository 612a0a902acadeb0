// The layout of packed weights, as the kernels of operations on weights have it.
#ifndef HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_
#define HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_

#include "generator/families/fields.h"
#include "heddle/weights.h"
#include "packing/config.h"

namespace heddle {

// Sets what every kernel has of a chunk and of what lies behind the chunks of a row block.
template <class Packed>
void copy_chunk(const WeightLayout& layout, Packed& packed) {
  packed.chunk_bytes = layout.chunk_bytes;
  packed.meta_group = layout.meta_group;
  packed.entry_offset = layout.entry_offset;
  packed.scale_offset = layout.scale_offset;
  packed.scale_bytes = layout.scale_bytes;
  packed.zero_offset = layout.zero_offset;
  packed.zero_bytes = layout.zero_bytes;
  packed.channel_bytes = layout.channel_bytes;
  packed.channel_zero_offset = layout.channel_zero_offset;
  packed.channel_sum_offset = layout.channel_sum_offset;
}

// Precondition: `layout` is that of the spec's weights.
device::PackedLayout packed_layout(const WeightOpSpec& spec, const WeightLayout& layout);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_
