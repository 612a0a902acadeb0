// The rules of a gemm's Y of eight bits.
#ifndef HEDDLE_GENERATOR_OPERATIONS_GEMM_OUTPUT_MEANING_H_
#define HEDDLE_GENERATOR_OPERATIONS_GEMM_OUTPUT_MEANING_H_

#include "generator/spec/weight_meaning.h"
#include "heddle/spec.h"

namespace heddle {

// That Y of eight bits has a scale that a kernel can serve, and that no other Y has one.
void check_output_scale(const GemmSpec& gemm, Problems& problems);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_GEMM_OUTPUT_MEANING_H_
