// How many sequences, and how long ones, a launch of attention takes, whichever kernels it has.
#ifndef HEDDLE_GENERATOR_KV_SEQUENCE_LIMITS_H_
#define HEDDLE_GENERATOR_KV_SEQUENCE_LIMITS_H_

#include <cstdint>

namespace heddle {

inline constexpr int kMostSequences = 1024;
// Lengths and what follows from them stay far below 2^31.
inline constexpr std::int64_t kMostSequenceTokens = std::int64_t{1} << 30;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_SEQUENCE_LIMITS_H_
