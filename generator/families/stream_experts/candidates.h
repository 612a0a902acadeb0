// Kernels by which a layer of experts could be served by streams.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "generator/families/family.h"

namespace heddle {

// The choices of experts that a launch may have.
inline constexpr std::int64_t kMostAssignments = 1024;

// The rows that tiles of these kernels may have for as many tokens as `tokens` begins with; none
// where an expert has more than 24 on average.
std::vector<int> segment_tile_rows(const MoeSpec& moe, const MRange& tokens);

std::vector<PlannedKernel> stream_experts_candidates(const Family& family, const Plan& plan,
                                                     const MRange& tokens);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_CANDIDATES_H_
