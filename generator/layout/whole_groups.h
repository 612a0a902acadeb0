// Groups along K that all have as many columns.
#ifndef HEDDLE_GENERATOR_LAYOUT_WHOLE_GROUPS_H_
#define HEDDLE_GENERATOR_LAYOUT_WHOLE_GROUPS_H_

#include <fmt/format.h>

#include <cstdint>

#include "heddle/error.h"

namespace heddle {

// Specs are parsed without this rule, which resolve() has. Throws Error(kUnsupported,
// "weights.unsupported") where groups do not divide K; `group_size` as in WeightSpec.
inline void expect_whole_groups(std::int64_t k, int group_size) {
  if (group_size <= 0 || k % group_size == 0) return;
  throw Error(ErrorCategory::kUnsupported, "weights.unsupported",
              fmt::format("groups of {} columns do not divide K = {}", group_size, k));
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_WHOLE_GROUPS_H_
