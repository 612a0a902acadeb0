// The tiles of mma.sync that could serve a GEMM: their size, their warps and what feeds them.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "generator/families/fields.h"
#include "generator/families/gemm_family.h"
#include "generator/families/gemm_request.h"
#include "tiles/config.h"

namespace heddle {

// Whether an SM has the shared memory, and the registers that the kernel takes by itself, for a
// block of the next kernel while one of these runs.
bool tile_fits_twice(const Target& target, const device::TilesConfig& config);

// As GemmFamily::candidates_for() and refusals_for().
std::vector<PlannedKernel> tiles_candidates(const GemmRequest& gemm, const MRange& m);
std::vector<Problem> tiles_refusals(const GemmRequest& gemm, const MRange& m);

// The parameters and the prediction, as in GemmFamily.
const std::vector<CostParameter>& tiles_cost_parameters();
double tiles_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_CANDIDATES_H_
