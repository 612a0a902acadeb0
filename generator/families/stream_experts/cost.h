// How long a layer of experts by streams takes.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_COST_H_

#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/experts/products.h"
#include "heddle/inspect/plan.h"
#include "stream_experts/config.h"

namespace heddle {

const std::vector<CostParameter>& stream_experts_cost_parameters();

// Microseconds of a product of so many tiles, without those of its launch.
double segment_product_us(const ExpertGemm& gemm, const device::StreamConfig& stream,
                          const device::SegmentShares& shares, double tiles, Costs costs);
// Of all launches.
double stream_experts_us(const Plan& plan, const device::StreamExpertsConfig& config,
                         std::int64_t tokens, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_EXPERTS_COST_H_
