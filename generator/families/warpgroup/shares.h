// How the thread blocks of a GEMM with wgmma share its tiles.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_SHARES_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_SHARES_H_

#include <cstdint>

#include "generator/families/costs.h"
#include "generator/families/gemm_request.h"
#include "generator/families/warpgroup/kernel.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// How many blocks a launch with m tokens has, and of how many a cluster; how many tiles at the end
// of their list several blocks share: those of a cluster, or any, which then need a workspace.
struct WgmmaShares {
  int workers = 1;
  int shared_tiles = 0;
  int cluster = 1;
  bool sums_in_cluster = false;

  bool needs_workspace() const noexcept { return shared_tiles > 0 && !sums_in_cluster; }
};

// The fastest of those that the kernel is made for, by the parameters' own values: what a table has
// of them changes no launch.
WgmmaShares wgmma_shares(const GemmRequest& plan, const WarpgroupKernel& config, std::int64_t m);

// Clocks that the SM that works longest needs for that.
double wgmma_shares_clocks(const GemmRequest& plan, const WarpgroupKernel& config, std::int64_t m,
                           Costs costs);

// Whether pairs of blocks may share tiles: half of a block's sums must find room where its stages
// were, as in templates/warpgroup/shape.cuh, and four warpgroups have up to 16 tokens.
bool wgmma_may_pair(const device::WarpgroupConfig& config);

// Whether a kernel whose tiles have all tokens may pair, and there are blocks and stages for pairs
// with a tile each.
bool wgmma_has_places_for_pairs(const WarpgroupKernel& config);

// Whether such a kernel has tiles that several blocks can share through the workspace.
bool wgmma_has_parts(const GemmRequest& plan, const WarpgroupKernel& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_SHARES_H_
