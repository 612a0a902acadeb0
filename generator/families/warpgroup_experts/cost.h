// How long a layer of experts with wgmma takes, and the parameters of that.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_EXPERTS_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_EXPERTS_COST_H_

#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "heddle/inspect/plan.h"
#include "warpgroup_experts/config.h"

namespace heddle {

// Those of a GEMM with wgmma and, behind them, the layer's own.
const std::vector<CostParameter>& warpgroup_experts_cost_parameters();
// The launches of so many tokens.
double warpgroup_experts_us(const Plan& plan, const device::WarpgroupExpertsConfig& config,
                            std::int64_t tokens, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_EXPERTS_COST_H_
