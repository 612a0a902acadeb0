// The tiles of wgmma that could serve a GEMM, and how thread blocks share them.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CANDIDATES_H_

#include <cstddef>
#include <vector>

#include "generator/families/fields.h"
#include "generator/families/gemm_family.h"
#include "generator/families/gemm_request.h"

namespace heddle {

// As GemmFamily::candidates_for() and refusals_for().
std::vector<PlannedKernel> warpgroup_candidates(const GemmRequest& plan, const MRange& m);
std::vector<Problem> warpgroup_refusals(const GemmRequest& plan, const MRange& m);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_CANDIDATES_H_
