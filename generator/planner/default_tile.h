// The planner's choice of tile for one range of M.
#ifndef HEDDLE_GENERATOR_PLANNER_DEFAULT_TILE_H_
#define HEDDLE_GENERATOR_PLANNER_DEFAULT_TILE_H_

#include <vector>

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Upper ends of the M ranges that get a kernel of their own, ascending; the last is open.
const std::vector<std::int64_t>& m_range_ends();
// The end of the range that m lies in.
std::int64_t m_range_end(std::int64_t m);
// Whether a range that ends with m_max is the open one, and what it is planned for.
bool is_open_range(std::int64_t m_max);
inline constexpr std::int64_t kOpenRangeTokens = 4096;

// Whether the user's tile sets a field.
bool sets_any(const TileSpec& tile);

// Tile, warps and stages for tokens m_min to m_max, shrunk until the target's shared memory holds
// them. Fields that the spec's tile sets are taken from it. split_k is left at one.
GemmVariant default_tile(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                         Path path, std::int64_t m_min, std::int64_t m_max);

// How many blocks share the K of one output tile.
int choose_split_k(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                   const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_DEFAULT_TILE_H_
