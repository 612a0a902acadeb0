// Runs GEMM kernels with random data and compares them with FP64.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_CHECK_H_

#include <cstdint>
#include <vector>

#include "heddle/operations.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

class GemmData;

// The kernel's results for M against those of the problem's reference. Preconditions: a kernel of
// the problem's spec whose workspace the problem has; a current context; M is one that it serves.
Check check_gemm(const GemmKernel& kernel, GemmData& problem, std::int64_t m);

// One check for each M, in order. Each M must be inside the spec's range: Error(kUsage) otherwise.
// The kernel must be loaded for the current context's device. Throws Error.
std::vector<Check> run_gemm(const GemmKernel& kernel, const CheckOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_CHECK_H_
