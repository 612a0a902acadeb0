// One resolver per operation. Each fills a plan whose spec and target are set, or throws
// Error(kUnsupported) with every reason why it cannot.
#ifndef HEDDLE_GENERATOR_PLAN_RESOLVE_H_
#define HEDDLE_GENERATOR_PLAN_RESOLVE_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/plan.h"

namespace heddle {

void resolve_gemm(Plan& plan);
void resolve_dequantize(Plan& plan);
void resolve_repack(Plan& plan);
void resolve_quantize_weight(Plan& plan);
void resolve_kv_append(Plan& plan);
void resolve_decode_attention(Plan& plan);

// Throws, with the spec's name in front of each problem, if there are any.
void refuse_if_any(const Spec& spec, std::vector<Problem> problems);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_RESOLVE_H_
