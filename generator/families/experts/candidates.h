// The kernels that a layer of experts is chosen from.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_CANDIDATES_H_

#include <vector>

#include "experts/config.h"
#include "generator/families/costs.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"

namespace heddle {

// As Family::candidates(). Both products have tiles of the same size and the same warps.
std::vector<PlannedKernel> experts_candidates(const Family& family, const Plan& plan,
                                              const MRange& tokens);
// Those of tiles and, behind them, what each launch costs, and the ratio of the
// products' time to that of GEMMs.
const std::vector<CostParameter>& experts_cost_parameters();
double experts_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_CANDIDATES_H_
