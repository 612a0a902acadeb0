// Times a layer of experts, from the router's choices to Y.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_

#include "heddle/operations.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

// A row for each number of tokens. Choices are uniform, other ones in each launch.
BenchReport bench_moe(const MoeKernel& kernel, const BenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_
