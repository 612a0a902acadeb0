// The groups that kernels take where a checkpoint's do not fit K.
#ifndef HEDDLE_GENERATOR_MODEL_GROUP_SIZE_H_
#define HEDDLE_GENERATOR_MODEL_GROUP_SIZE_H_

#include <cstdint>
#include <numeric>

#include "generator/spec/weight_meaning.h"

namespace heddle {

// The last group of a checkpoint may be shorter than the others (K = 10944 in groups of 128).
// Kernels take groups of one size, so each group becomes several with the same scale: the largest
// size that divides both. That is group_size itself where it divides K, and where there is no such
// size.
inline int kernel_group_size(std::int64_t k, int group_size) {
  if (group_size <= 0 || k % group_size == 0) return group_size;
  const std::int64_t common = std::gcd(k, std::int64_t{group_size});
  return common % kGroupStep == 0 ? static_cast<int>(common) : group_size;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_GROUP_SIZE_H_
