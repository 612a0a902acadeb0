// Tiles of mma.sync whose warps read ahead of their products (templates/tiles/wide.cuh).
#ifndef HEDDLE_GENERATOR_PLANNER_WIDE_TILE_H_
#define HEDDLE_GENERATOR_PLANNER_WIDE_TILE_H_

#include <optional>

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Whether that kernel serves a tile whose fields are set, and is the faster one for it.
bool can_read_ahead(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& variant);

// The fastest of its tiles for m_min to m_max tokens, with stages and split_k; none where others
// serve: few tokens, codes that are decoded in longer units, scales that belong on the sums.
std::optional<GemmVariant> wide_tile(const GemmSpec& spec, const Target& target,
                                     const WeightLayout& layout, Path path, std::int64_t m_min,
                                     std::int64_t m_max);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_WIDE_TILE_H_
