// Times a layer of experts, from the router's choices to Y.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_

#include <cstdint>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

// A row for each number of tokens. Choices are uniform; launches take turns through up to 16 draws,
// each with weights of its own.
BenchReport bench_moe(const MoeKernel& kernel, const BenchOptions& options);
// As Harness::time_plans().
PlanTimes time_moe_plans(Runtime& runtime, const std::vector<Plan>& plans, std::int64_t tokens,
                         const BenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_BENCH_H_
