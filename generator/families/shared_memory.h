// What the hardware has, and the arithmetic of whole tiles.
#ifndef HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_
#define HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_

#include <cstdint>

namespace heddle {

// CUDA reserves this much shared memory in every thread block.
inline constexpr int kReservedSharedBytes = 1024;
// Size of a cache line; shared memory is copied in the same unit.
inline constexpr int kLineBytes = 128;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_SHARED_MEMORY_H_
