// Tiles of mma.sync for few tokens: one block to an SM, with equal parts of the weights.
#ifndef HEDDLE_GENERATOR_PLANNER_FEW_TILE_H_
#define HEDDLE_GENERATOR_PLANNER_FEW_TILE_H_

#include <optional>

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Such a tile for m_min to m_max tokens, with stages, but split_k of one; none for more than 16
// tokens, for a tile of the user's, without asynchronous copies, or where too little fits.
std::optional<GemmVariant> few_tile(const GemmSpec& spec, const Target& target,
                                    const WeightLayout& layout, Path path, std::int64_t m_min,
                                    std::int64_t m_max);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_FEW_TILE_H_
