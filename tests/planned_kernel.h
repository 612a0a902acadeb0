// Kernels of GEMMs that a test finds by their kind, or changes.
#ifndef HEDDLE_TESTS_PLANNED_KERNEL_H_
#define HEDDLE_TESTS_PLANNED_KERNEL_H_

#include <functional>
#include <optional>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_family.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/warpgroup/kernel.h"
#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"
#include "stream/config.h"
#include "tiles/config.h"

namespace heddle {

// The kernel's configuration if this is its struct, else null.
template <class Config>
const Config* config_if(const PlannedKernel& kernel) {
  const auto* value = dynamic_cast<const ConfigurationOf<Config>*>(kernel.configuration.get());
  return value == nullptr ? nullptr : &value->value();
}

inline bool is_stream(const PlannedKernel& kernel) {
  return config_if<device::StreamConfig>(kernel) != nullptr;
}
inline bool is_wgmma(const PlannedKernel& kernel) {
  return config_if<WarpgroupKernel>(kernel) != nullptr;
}
// Tiles that bulk copies feed.
inline bool is_bulk(const PlannedKernel& kernel) {
  const auto* tiles = config_if<device::TilesConfig>(kernel);
  return tiles != nullptr && tiles->feeder == device::Feeder::kBulk;
}
// Tiles that the multiplying warps feed.
inline bool is_tiles(const PlannedKernel& kernel) {
  return config_if<device::TilesConfig>(kernel) != nullptr && !is_bulk(kernel);
}

using IsWanted = std::function<bool(const PlannedKernel&)>;

// The wanted candidate that is predicted to be the fastest for a range of M, whether or not another
// one is faster, with the name of the plan's first kernel; none if no candidate is wanted.
inline std::optional<PlannedKernel> fastest_kernel(const Plan& plan, const MRange& m,
                                                   const IsWanted& wanted) {
  for (const Candidate& one : all_candidates(plan, m)) {
    if (wanted(one.kernel)) return planned_kernel(plan, one.kernel, plan.kernels.front().name);
  }
  return std::nullopt;
}

// A kernel of tiles with so many rows, for what does not look at anything else.
inline PlannedKernel tiles_kernel(int tile_n) {
  device::TilesConfig config{};
  config.tile_m = 8;
  config.tile_n = tile_n;
  config.stage_k = 64;
  config.stages = 2;
  config.split_k = config.warps_m = config.warps_n = config.warps_k = 1;
  return gemm_candidate(*tiles_family(), {1, 1}, config);
}

// Has clusters of so many blocks read the tokens of neighbouring tiles once: the planner has this
// for tiles of its own choice alone.
inline void wgmma_share_tokens(int cluster, device::WarpgroupConfig& c) {
  c.cluster = cluster;
  if (c.shares_in_pairs() && cluster > 1) c.sharing = device::TileSharing::kParts;
}

// The plan's kernel with another configuration, of which nothing else but its launch bounds and its
// powers of two follow.
template <class Config>
PlannedKernel with_config(const Plan& plan, PlannedKernel kernel, const Config& config) {
  kernel.configuration = make_configuration(config);
  kernel.threads = config.threads();
  kernel.shared_bytes = config.shared_bytes();
  gemm_family_of(kernel).complete(plan, kernel);
  return kernel;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_PLANNED_KERNEL_H_
