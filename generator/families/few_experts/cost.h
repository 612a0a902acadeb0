// How long one of the two products takes.
#ifndef HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_COST_H_

#include <cstdint>
#include <vector>

#include "few_experts/config.h"
#include "generator/families/costs.h"
#include "generator/families/experts/products.h"
#include "generator/families/fields.h"

namespace heddle {

// How a product is shared: its StreamConfig, but for the stages of the rings.
struct FewWay {
  device::StreamConfig stream;
  device::FewShares shares;
};

// Experts that are hit, and their tokens on average.
struct FewLoad {
  double experts;
  double tokens;
};

const std::vector<CostParameter>& few_experts_cost_parameters();

// Microseconds of a product, without those of its launch. `is_together`: an SM has room for blocks
// of both launches.
double few_product_us(const ExpertGemm& gemm, const FewWay& way, bool is_down, bool is_together,
                      const FewLoad& load, Costs costs);
// Those of both launches.
double few_launches_us(int launches, bool is_together, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_FEW_EXPERTS_COST_H_
