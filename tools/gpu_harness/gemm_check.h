// Runs GEMM kernels with random data and compares them with FP64.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_GEMM_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_GEMM_CHECK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/gemm.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"

namespace heddle {

struct GemmCheck {
  std::int64_t m = 0;
  std::size_t kernel = 0;  // of the plan: which ran
  // Relative Frobenius norm of the error; NaN if an output was not written or is not a number.
  double error = 0;
  double limit = 0;                    // what the error must stay under, from the output's rounding
  bool guards_intact = false;          // nothing was written outside of y
  bool repeatable = false;             // a second launch gave the same bits
  std::optional<double> cublas_error;  // on the same weights, rounded to the activation's type

  bool passed() const noexcept { return error < limit && guards_intact && repeatable; }
};

struct GemmCheckOptions {
  bool cublas = false;  // also compute cublas_error, if there is a cuBLAS
  std::uint32_t seed = 1;
};

class GemmProblem;

// The bytes of Y that the last launch with M has written.
std::vector<std::uint8_t> read_output(const GemmProblem& problem, std::int64_t m);

// The kernel's results for M against those of the problem's reference. Preconditions: a kernel of
// the problem's spec whose workspace the problem has; a current context; M is one that it serves.
GemmCheck check_gemm(const GemmKernel& kernel, GemmProblem& problem, std::int64_t m);

// One check for each M, in order. Each M must be inside the spec's range: Error(kUsage) otherwise.
// The kernel must be loaded for the current context's device. Throws Error.
std::vector<GemmCheck> run_gemm(const GemmKernel& kernel, const std::vector<std::int64_t>& m_list,
                                const GemmCheckOptions& options = {});

// As above, from a spec: makes the kernel in the current context, else in device 0's primary one.
std::vector<GemmCheck> run_gemm(Runtime& runtime, const Spec& spec,
                                const std::vector<std::int64_t>& m_list,
                                const GemmCheckOptions& options = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_GEMM_CHECK_H_
