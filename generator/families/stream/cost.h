// How long a stream takes, of tokens of 16 bits or of 8.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_COST_H_

#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/gemm_request.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// What streams of FP8 decode by: to FP16. Words of the order byte_fragment are those of the order
// fragment but for the columns inside of a tile.
DecodePlan byte_stream_decode_plan(const GemmRequest& gemm);

// The parameters and the prediction, as in GemmFamily; `of_codes`: of tokens of 8 bits.
std::vector<CostParameter> stream_cost_parameters(bool of_codes);
double stream_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m, Costs costs);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_COST_H_
