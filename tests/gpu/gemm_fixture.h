// What the GEMM's tests on the GPU share: a spec's kernels against FP64 and against cuBLAS.
#ifndef HEDDLE_TESTS_GPU_GEMM_FIXTURE_H_
#define HEDDLE_TESTS_GPU_GEMM_FIXTURE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/gpu_fixture.h"
#include "tests/planned_kernel.h"
#include "tools/gpu_harness/gemm_check.h"

namespace heddle {

// The promise: no worse than 1.05 times the error of cuBLAS on the same weights.
inline constexpr double kErrorRatio = 1.05;

class GemmGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }
  void check(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    const bool plain = !spec.epilogue.bias && !spec.epilogue.residual && !spec.epilogue.gated &&
                       !spec.output && spec.epilogue.activation == Activation::kNone;
    GemmCheckOptions options;
    options.cublas = plain;
    const Spec full = Spec::from_gemm(spec);
    if (only_makes(std::vector{full})) return;
    expect_passed(full, run_gemm(runtime(), full, m_list, options));
  }
  // The same with the fastest of the kernels that are wanted, of which there must be one for all M
  // of the spec.
  void check_kernel(const GemmSpec& spec, const IsWanted& wanted,
                    const std::vector<std::int64_t>& m_list) {
    const Spec full = Spec::from_gemm(spec);
    Plan plan = resolve(full, target());
    const std::optional<PlannedKernel> kernel =
        fastest_kernel(plan, {spec.shape.m_min, spec.shape.m_max}, wanted);
    ASSERT_TRUE(kernel) << full.canonical_json();
    plan.kernels = {*kernel};
    if (only_makes(std::vector{plan})) return;
    expect_passed(full, run_gemm(GemmKernel(runtime().load(plan)), m_list));
  }

 private:
  static void expect_passed(const Spec& spec, const std::vector<GemmCheck>& checks) {
    for (const GemmCheck& check : checks) {
      SCOPED_TRACE(spec.canonical_json() + " M = " + std::to_string(check.m));
      EXPECT_TRUE(check.passed()) << "error " << check.error << ", limit " << check.limit
                                  << ", guards " << check.guards_intact << ", repeatable "
                                  << check.repeatable;
      // A few outputs are too few for a ratio of two roundings.
      if (check.cublas_error && check.m * spec.gemm().shape.n >= 1000) {
        EXPECT_LE(check.error, kErrorRatio * *check.cublas_error);
      }
    }
  }
};

// The longest tests, one of each type of the activations so that they may run beside each other.
// gemm_test.cc names the types.
class GemmGpuOfType : public GemmGpu, public testing::WithParamInterface<DType> {};

inline GemmSpec spec_of(std::int64_t n, std::int64_t k, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  return spec;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_GEMM_FIXTURE_H_
