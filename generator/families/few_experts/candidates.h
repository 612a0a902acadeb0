// The kernels for few tokens that a layer of experts is chosen from, and how long they take.
#ifndef HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_CANDIDATES_H_

#include <vector>

#include "generator/families/costs.h"
#include "generator/families/family.h"

namespace heddle {

// As those of Family. Of each product the ways to share it that are predicted fastest.
std::vector<PlannedKernel> few_experts_candidates(const Family& family, const Plan& plan,
                                                  const MRange& tokens);
double few_experts_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens,
                      Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_CANDIDATES_H_
