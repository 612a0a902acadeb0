// The plan of a GEMM with wgmma (templates/gemm/gemm_wgmma.cuh).
#ifndef HEDDLE_GENERATOR_PLAN_WGMMA_H_
#define HEDDLE_GENERATOR_PLAN_WGMMA_H_

#include "heddle/plan.h"

namespace heddle {

// Whether this kernel serves m_min to m_max tokens: the one place that decides it. The path hopper
// asks for it wherever it can serve; auto takes it from where it was measured to be faster.
bool wgmma_serves(const GemmSpec& spec, const Target& target, std::int64_t m_min);

// Tile and stages for tokens m_min to m_max. Fields that the spec's tile sets are taken from it.
GemmVariant wgmma_variant(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          std::int64_t m_min, std::int64_t m_max);

// What it takes for its most tokens, in clocks of an SM of an H200 and in excess of a launch.
double wgmma_clocks(const GemmVariant& variant, const WeightLayout& layout);

// Of how many tokens a tensor copy is.
int wgmma_box_tokens(const GemmVariant& variant);

// How many blocks a launch with m tokens has, and of how many a cluster; how many tiles at the end
// of their list several blocks share: those of a cluster, or any, which then need a workspace.
// Below zero: so many tiles at the end are cut in two along their tokens.
struct WgmmaShares {
  int workers = 1;
  int shared_tiles = 0;
  int cluster = 1;
  bool sums_in_cluster = false;

  bool needs_workspace() const noexcept { return shared_tiles > 0 && !sums_in_cluster; }
};
WgmmaShares wgmma_shares(const GemmVariant& variant, const WeightLayout& layout, std::int64_t m);

// What the shared tiles' sums take of the workspace behind its counters, for every m.
std::size_t wgmma_partial_bytes(const GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_WGMMA_H_
