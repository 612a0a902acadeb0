// The plan of a GEMM with wgmma (templates/warpgroup/).
#ifndef HEDDLE_GENERATOR_PLANNER_WGMMA_H_
#define HEDDLE_GENERATOR_PLANNER_WGMMA_H_

#include "generator/planner/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// Whether this kernel serves m_min to m_max tokens: the one place that decides it. The path hopper
// asks for it wherever it can serve; auto takes it from where it was measured to be faster.
bool wgmma_serves(const GemmSpec& spec, const Target& target, std::int64_t m_min);

// Tile and stages for tokens m_min to m_max. Fields that the spec's tile sets are taken from it.
GemmVariant wgmma_variant(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          std::int64_t m_min, std::int64_t m_max);

// Whether four warpgroups of pairs of blocks with 64 rows in common would serve these tokens, with
// rows for nearly all SMs: then other kernels of up to 16 tokens are slower.
bool wgmma_pairs_fill(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      std::int64_t m_min, std::int64_t m_max);

// Has clusters of so many blocks read the tokens of neighbouring tiles once.
void wgmma_share_tokens(int cluster, GemmVariant& variant);

// Has pairs of blocks take this tile with 64 rows in common; such tiles are not shared otherwise.
void wgmma_share_rows(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      GemmVariant& variant);

// Has blocks share the tiles that are left over before their whole ones, or behind them; for a tile
// of all tokens.
void wgmma_share_first(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                       bool first, GemmVariant& variant);

// Whether a stage of this tile may be half a chunk of each row block: a warp is done with one half
// after the other, whose words lie apart.
bool wgmma_may_halve(const GemmSpec& spec, const GemmVariant& variant);

// What the shared tiles' sums take of the workspace behind its counters, for every m.
std::size_t wgmma_partial_bytes(const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_WGMMA_H_
