// What the hardware has of shared memory.
#ifndef HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_
#define HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_

#include <algorithm>

#include "generator/ceil_div.h"
#include "heddle/target.h"

namespace heddle {

// CUDA reserves this much shared memory in every thread block.
inline constexpr int kReservedSharedBytes = 1024;
// Size of a cache line; shared memory is copied in the same unit.
inline constexpr int kLineBytes = 128;

// Stages of a ring that bulk copies fill, at most.
inline constexpr int kMostBulkStages = 8;

// What gives a thread block an SM to itself: just over half of the SM's shared memory, or all that
// a block may have where that is less. Two blocks of a launch that starts early would else meet on
// the first SM that is free, and leave others idle.
inline int shared_bytes_of_own_sm(const Target& target) {
  return std::min(target.shared_per_sm / 2 - kReservedSharedBytes + kLineBytes,
                  target.shared_per_block);
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_
