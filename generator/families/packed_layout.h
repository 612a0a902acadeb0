// The layout of packed weights, as the kernels of operations on weights have it.
#ifndef HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_
#define HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_

#include "generator/families/fields.h"
#include "heddle/weights.h"
#include "packing/config.h"

namespace heddle {

// Precondition: `layout` is that of the spec's weights.
device::PackedLayout packed_layout(const WeightOpSpec& spec, const WeightLayout& layout);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_PACKED_LAYOUT_H_
