// The kernels for one token that could serve a GEMM: how warps and blocks share K, and how far
// ahead weights are read.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMV_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMV_CANDIDATES_H_

#include <vector>

#include "generator/families/gemm_family.h"
#include "generator/families/gemm_request.h"

namespace heddle {

// As GemmFamily::exclusions_for(), candidates_for() and refusals_for().
std::vector<Problem> gemv_exclusions(const GemmSpec& spec, const MRange& m);
std::vector<PlannedKernel> gemv_candidates(const GemmRequest& gemm, const MRange& m);
std::vector<Problem> gemv_refusals(const GemmRequest& gemm);

// The parameters and the prediction, as in GemmFamily.
const std::vector<CostParameter>& gemv_cost_parameters();
double gemv_us(const GemmRequest& gemm, const PlannedKernel& kernel, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMV_CANDIDATES_H_
