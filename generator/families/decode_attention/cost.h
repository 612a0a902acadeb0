// The predicted time of decode_attention.
#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_COST_H_

#include <vector>

#include "decode_attention/config.h"
#include "generator/families/costs.h"
#include "heddle/inspect/plan.h"
#include "heddle/target.h"

namespace heddle {

// As Family::cost_parameters() and predicted_us().
const std::vector<CostParameter>& attention_cost_parameters();
double attention_us(const Target& target, const device::DecodeAttentionConfig& config,
                    int blocks_per_sm, const LaunchSize& size, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_COST_H_
