#include "tools/gpu_harness/gemm_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/cublas.h"
#include "tools/gpu_harness/gemm_problem.h"

namespace heddle {
namespace {

// Rounding the output alone gives about 2e-4 in FP16 and 1.7e-3 in BF16; rounding the scaled weight
// as well (ScaleMode::kWeight) up to 1.5 times that.
double error_limit(const GemmSpec& spec) {
  if (spec.has_byte_activations()) {
    const double rounding = spec.output_dtype() == DType::kFp32   ? 1e-6
                            : spec.has_byte_output()              ? 1e-6
                            : spec.output_dtype() == DType::kBf16 ? 4e-3
                                                                  : 5e-4;
    // The tensor cores keep some 14 bits of their sums of FP8: of 128 columns, or of all of K.
    const double sums = spec.activation == DType::kInt8                ? 0
                        : spec.accumulation == Accumulation::kPromoted ? 1e-3
                                                                       : 8e-3;
    return rounding + sums;
  }
  const bool bf16 = spec.activation == DType::kBf16 || spec.output_dtype() == DType::kBf16;
  return bf16 ? 4e-3 : 5e-4;
}

std::int64_t checked_max(const GemmShape& shape, const std::vector<std::int64_t>& m_list) {
  std::int64_t most = 1;
  for (const std::int64_t m : m_list) {
    if (m < shape.m_min || m > shape.m_max) {
      throw Error(
          ErrorCategory::kUsage, "harness.m",
          fmt::format("M = {} is outside the spec's range [{}, {}]", m, shape.m_min, shape.m_max));
    }
    most = std::max(most, m);
  }
  return most;
}

double cublas_error(const Cublas& cublas, const DeviceBuffer& weights, GemmProblem& problem,
                    std::int64_t m) {
  const GemmArgs args = problem.args(m);
  const GemmShape& shape = problem.spec().shape;
  if (problem.has_epilogue()) problem.make_reference(m, false);
  problem.poison_output(m);
  const DeviceBuffer x = problem.arranged_x(m);
  cublas.gemm(x.get(), weights.get(), args.y.data, static_cast<int>(m), static_cast<int>(shape.n),
              static_cast<int>(shape.k), problem.bf16());
  return problem.relative_error(m);
}

}  // namespace

std::vector<std::uint8_t> read_output(const GemmProblem& problem, std::int64_t m) {
  std::vector<std::uint8_t> y(static_cast<std::size_t>(m) * output_row_bytes(problem.spec()));
  cuda::check(cuda::driver().cuMemcpyDtoHAsync(
                  y.data(), reinterpret_cast<cuda::CUdeviceptr>(problem.args(m).y.data), y.size(),
                  problem.stream().get()),
              "cuMemcpyDtoHAsync");
  problem.stream().synchronize();
  return y;
}

GemmCheck check_gemm(const GemmKernel& kernel, GemmProblem& problem, std::int64_t m) {
  GemmCheck check;
  check.m = m;
  check.kernel = kernel.plan().kernel_for(m);
  check.limit = error_limit(problem.spec());
  problem.make_reference(m, true);
  problem.poison_output(m);
  kernel.launch(problem.args(m), problem.stream().get());
  check.error = problem.relative_error(m);
  check.guards_intact = problem.guards_intact(m);
  const std::vector<std::uint8_t> first = read_output(problem, m);
  problem.poison_output(m);
  kernel.launch(problem.args(m), problem.stream().get());
  // A kernel that may add in any order is not asked for the same bits.
  check.repeatable = read_output(problem, m) == first || !problem.spec().deterministic;
  return check;
}

std::vector<GemmCheck> run_gemm(const GemmKernel& kernel, const std::vector<std::int64_t>& m_list,
                                const GemmCheckOptions& options) {
  const cuda::CurrentContext context;
  const std::int64_t max_m = checked_max(kernel.plan().spec.gemm().shape, m_list);
  GemmProblem problem(kernel, max_m, options.seed);
  std::unique_ptr<Cublas> cublas;
  DeviceBuffer rounded;
  const bool is_bytes = kernel.plan().spec.gemm().has_byte_activations();
  if (options.cublas && !is_bytes) cublas = Cublas::open(problem.stream(), nullptr);
  if (cublas) rounded = problem.rounded_weights();
  std::vector<GemmCheck> checks;
  for (const std::int64_t m : m_list) {
    checks.push_back(check_gemm(kernel, problem, m));
    if (cublas) checks.back().cublas_error = cublas_error(*cublas, rounded, problem, m);
  }
  return checks;
}

std::vector<GemmCheck> run_gemm(Runtime& runtime, const Spec& spec,
                                const std::vector<std::int64_t>& m_list,
                                const GemmCheckOptions& options) {
  const cuda::CurrentContext context;
  return run_gemm(runtime.kernel<GemmKernel>(spec), m_list, options);
}

}  // namespace heddle
