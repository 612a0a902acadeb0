// Times row_transform beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BENCH_H_

#include "heddle/operations.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

// For each number of rows; without one for 1 to 4096. In the current context. Weight and bias are
// the same in every launch, as in a model's layers they nearly are.
BenchReport bench_rows(const RowTransformKernel& kernel, const BenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BENCH_H_
