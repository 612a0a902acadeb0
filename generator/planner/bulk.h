// The plan of a GEMM whose operands come by bulk copies (templates/tiles/bulk.cuh).
#ifndef HEDDLE_GENERATOR_PLANNER_BULK_H_
#define HEDDLE_GENERATOR_PLANNER_BULK_H_

#include <cstdint>
#include <optional>

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

inline constexpr std::int64_t kMostBulkTokens = 64;

// Tile and stages for tokens m_min to m_max, if this kernel serves them: what the spec asks for
// with the path hopper and warps along N, which its neighbours do not have, buildable or not; or
// where it was measured to be the fastest.
std::optional<GemmVariant> bulk_variant(const GemmSpec& spec, const Target& target,
                                        const WeightLayout& layout, std::int64_t m_min,
                                        std::int64_t m_max);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_BULK_H_
