// Tiles that the family of wgmma kernels offers.
#ifndef HEDDLE_TESTS_GENERATOR_FAMILIES_WARPGROUP_WGMMA_TILES_H_
#define HEDDLE_TESTS_GENERATOR_FAMILIES_WARPGROUP_WGMMA_TILES_H_

#include <vector>

#include "generator/families/warpgroup/kernel.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/planned_kernel.h"

namespace heddle {

// For the spec's whole range of M, the predicted fastest first.
inline std::vector<WarpgroupKernel> wgmma_tiles(const GemmSpec& spec, const char* target = "h200") {
  std::vector<WarpgroupKernel> tiles;
  for (const PlannedKernel& kernel : candidates_of(spec, target, is_wgmma)) {
    tiles.push_back(config_of<WarpgroupKernel>(kernel));
  }
  return tiles;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_FAMILIES_WARPGROUP_WGMMA_TILES_H_
