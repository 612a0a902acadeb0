// Runs kernels of GEMMs on the CPU, against FP64.
#ifndef HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_
#define HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_

#include <cstdint>

#include "heddle/plan.h"
#include "tests/emulator/gemm_kernels.h"
#include "tests/emulator/gemm_problem.h"

namespace heddle {

// `kernel` is that of the plan's one variant, a stream or tiles. In each of `seeds` interleavings
// it gives the same bits, whose errors are within the limit of the activation's type.
void check_gemm(const Plan& plan, const GemmProblem& problem, GemmOnCpu* kernel, std::int64_t m,
                unsigned seeds);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_
