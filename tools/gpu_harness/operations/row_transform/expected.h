// What must come of the data of a row_transform.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_EXPECTED_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_EXPECTED_H_

#include <string>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {

ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem);

// The first output that is wrong, in words; empty if there is none. `worst`, if not null, is the
// largest share of its tolerance that an output has used; of 8 bits by how many codes one is away
// from that of FP64.
std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const WrittenRows& written,
                          double* worst = nullptr);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_EXPECTED_H_
