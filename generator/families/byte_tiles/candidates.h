// The tiles of mma.sync that could serve a GEMM of two operands of eight bits: their size, their
// warps and what feeds them.
#ifndef HEDDLE_GENERATOR_FAMILIES_BYTE_TILES_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_BYTE_TILES_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "byte_tiles/config.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_family.h"
#include "generator/families/gemm_request.h"

namespace heddle {

// As GemmFamily::exclusions_for(), candidates_for() and refusals_for().
std::vector<Problem> byte_tiles_exclusions(const GemmSpec& spec, const Target& target);
std::vector<PlannedKernel> byte_tiles_candidates(const GemmRequest& gemm, const MRange& m);
std::vector<Problem> byte_tiles_refusals(const GemmRequest& gemm, const MRange& m);

// The parameters and the prediction, as in GemmFamily.
const std::vector<CostParameter>& byte_tiles_cost_parameters();
double byte_tiles_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                     Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_BYTE_TILES_CANDIDATES_H_
