// Groups along K: which columns of W share a scale, and where in a chunk that scale lies. W may be
// a shard that begins inside of a group (WeightSpec::group_offset).
#ifndef HEDDLE_GENERATOR_LAYOUT_GROUPS_H_
#define HEDDLE_GENERATOR_LAYOUT_GROUPS_H_

#include <algorithm>
#include <cstdint>

#include "heddle/weights.h"

namespace heddle {

// The group of column `column`; 0 for scales per channel or per tensor.
constexpr std::int64_t group_of_column(const WeightSpec& weight, std::int64_t column) {
  return weight.group_size > 0 ? (column + weight.group_offset) / weight.group_size : 0;
}

// The entry of scales, and of zero points, of a chunk's column `column`.
constexpr int entry_of_column(const WeightLayout& layout, int column) {
  return (column + layout.entry_offset) / layout.meta_group;
}

// The first column of the chunk that reads entry `entry`; the inverse of entry_of_column.
constexpr int first_column_of_entry(const WeightLayout& layout, int entry) {
  return std::max(0, entry * layout.meta_group - layout.entry_offset);
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_GROUPS_H_
