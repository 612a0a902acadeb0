// Scales in two levels: integers of groups under a scale of each channel
// (WeightSpec::channel_scale).
#ifndef HEDDLE_GENERATOR_LAYOUT_TWO_LEVELS_H_
#define HEDDLE_GENERATOR_LAYOUT_TWO_LEVELS_H_

#include <cstdint>
#include <vector>

#include "heddle/weights.h"

namespace heddle {

// Throws Error(kUsage, "weights.group_scale") that names the first row and group whose scale is not
// 1 to 127, or makes no INT8 of one of the group's codes. Precondition: expect_plain_sizes().
void expect_group_scales(const GemmSpec& spec, const QuantizedWeights& weights);

// quantize_weights() of two levels. Precondition: the spec can be packed, `w` has its size.
QuantizedWeights quantize_two_levels(const WeightOpSpec& spec, const std::vector<std::uint16_t>& w);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_TWO_LEVELS_H_
