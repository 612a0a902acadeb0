// Runs kernels of GEMMs on the CPU, against FP64.
#ifndef HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_
#define HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "heddle/inspect/plan.h"
#include "tests/emulator/gemm_kernels.h"
#include "tests/emulator/gemm_problem.h"

namespace heddle {

// What a thread of a kernel does, for m tokens.
using GemmThread =
    std::function<void(const GemmProblem::Buffers& buffers, std::uint8_t* workspace, int m)>;
GemmThread thread_of(GemmOnCpu* kernel);

// GemmProblem::written() of one interleaving, without a look at it.
std::vector<std::uint8_t> run_gemm(const Plan& plan, const GemmProblem& problem,
                                   const GemmThread& thread, std::int64_t m, unsigned seed);

// `thread` is the plan's one kernel. In each of `seeds` interleavings it gives the same bits, whose
// errors are within the limit of the activation's type.
void check_gemm(const Plan& plan, const GemmProblem& problem, const GemmThread& thread,
                std::int64_t m, unsigned seeds);

// As above, with the fewest and the most tokens of the plan's spec, in interleavings().
void check_ends(const Plan& plan, const GemmThread& thread);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMM_CHECK_H_
