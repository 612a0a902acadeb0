// A stage of a GEMM with wgmma: chunks of weights, or half a chunk of each row block, and the
// tokens of their columns.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_

#include "generator/families/gemm_variant.h"
#include "generator/families/warpgroup/config.h"
#include "heddle/plan.h"

namespace heddle {

// Blocks of a cluster that share K or tokens. 32 clusters of four did not fit a GPU whose GPCs have
// 16 or 18 SMs.
inline constexpr int kWgmmaCluster = 2;

inline constexpr int kWgmmaRowTile = device::WarpgroupConfig::kRowTile;

// That multiply: two, or four of a row tile each.
inline int wgmma_warpgroups(const GemmVariant& v) { return v.warps_n / 4; }
inline bool wgmma_has_four(const GemmVariant& v) { return wgmma_warpgroups(v) == 4; }

// Whether the sums of a tile leave few registers.
inline bool wgmma_has_many_tokens(const GemmVariant& v) {
  return v.tile_m > device::WarpgroupConfig::kManyTokens;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_STAGE_H_
