// What the GEMM's tests on the GPU share: a spec's kernels against FP64 and against cuBLAS.
#ifndef HEDDLE_TESTS_GPU_GEMM_FIXTURE_H_
#define HEDDLE_TESTS_GPU_GEMM_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/every_kernel.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/kernel_rotation.h"
#include "tests/gpu/rotate.h"
#include "tests/planned_kernel.h"
#include "tools/gpu_harness/operations/gemm/check.h"

namespace heddle {

// The promise: no worse than 1.05 times the error of cuBLAS on the same weights.
inline constexpr double kErrorRatio = 1.05;

// Numbers of tokens that the stream kernels are run with.
inline const std::vector<std::int64_t> kStreamTokens{1, 2, 3, 5, 8, 9, 16};

// Types of activations with weights that are decoded to them.
inline constexpr DType kSixteenBitTypes[] = {DType::kFp16, DType::kBf16};

// Signs of integer weights.
inline constexpr WeightType kIntegers[] = {WeightType::kUint, WeightType::kInt};

class GemmGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }
  void TearDown() override {
    OnGpu::TearDown();
    if (left_out_ == 0) return;
    if (checked_ == 0) GTEST_SKIP() << "this GPU has no instructions for BF16 or cp.async";
    RecordProperty("left_out", left_out_);  // tools/gpu-suite tells
  }
  // Each M by the kernel that the planner chooses for it.
  void check(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    if (is_left_out(spec)) return;
    check_plan(plan_of(spec, m_list), m_list);
  }
  // As check(), but by only one of these kernels, with all M of the list that it serves: for loops
  // over the values of several properties. See KernelRotation.
  void check_in_turn(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    if (is_left_out(spec)) return;
    if (every_kernel()) return check(spec, m_list);
    check_one_of(plan_of(spec, m_list), m_list);
  }
  // As above, with the fastest of the kernels that are wanted for each range of M, whether or not
  // the planner would choose one of them.
  void check_in_turn(const GemmSpec& spec, const std::vector<MRange>& ranges,
                     const IsWanted& wanted, const std::vector<std::int64_t>& m_list) {
    if (is_left_out(spec)) return;
    Plan plan = resolve(Spec::from_gemm(spec), target());
    std::vector<PlannedKernel> kernels;
    for (const MRange& range : ranges) {
      const std::optional<PlannedKernel> kernel = fastest_kernel(plan, range, wanted);
      ASSERT_TRUE(kernel) << plan.spec.canonical_json() << " M = " << range.min;
      kernels.push_back(*kernel);
    }
    plan.kernels = std::move(kernels);
    check_one_of(plan, m_list);
  }
  // As check(), but by the fastest of the kernels that are wanted, of which there must be one for
  // all M of the spec.
  void check_kernel(const GemmSpec& spec, const IsWanted& wanted,
                    const std::vector<std::int64_t>& m_list) {
    if (is_left_out(spec)) return;
    const Spec full = Spec::from_gemm(spec);
    Plan plan = resolve(full, target());
    const std::optional<PlannedKernel> kernel =
        fastest_kernel(plan, {spec.shape.m_min, spec.shape.m_max}, wanted);
    ASSERT_TRUE(kernel) << full.canonical_json();
    plan.kernels = {*kernel};
    if (only_makes(std::vector{plan})) return;
    expect_passed(full, run_gemm(GemmKernel(runtime().load(plan)), {m_list}));
  }
  // With those kernels alone that serve an M of the list: others need not be compiled.
  static Plan plan_of(const GemmSpec& spec, const std::vector<std::int64_t>& m_list) {
    Plan plan = resolve(Spec::from_gemm(spec), target());
    std::erase_if(plan.kernels, [&](const PlannedKernel& kernel) {
      return std::none_of(m_list.begin(), m_list.end(), [&](std::int64_t m) {
        return kernel.size_min <= m && m <= kernel.size_max;
      });
    });
    return plan;
  }

 private:
  // What the GPU has no instructions for: BF16, and the copies of the path ampere. TearDown()
  // tells.
  bool is_left_out(const GemmSpec& spec) {
    const bool is_bf16 = spec.activation == DType::kBf16 || spec.output == DType::kBf16;
    const bool left_out = (is_bf16 && !has_bf16(target())) ||
                          (spec.path == Path::kAmpere && !has_async_copies(target()));
    ++(left_out ? left_out_ : checked_);
    return left_out;
  }
  void check_one_of(const Plan& plan, const std::vector<std::int64_t>& m_list) {
    ASSERT_FALSE(plan.kernels.empty()) << plan.spec.canonical_json();
    for (const Plan& one : rotation_.plans_of_one(plan, m_list)) {
      check_plan(one, served_by(one, m_list));
    }
  }
  void check_plan(const Plan& plan, const std::vector<std::int64_t>& m_list) {
    ASSERT_FALSE(m_list.empty() || plan.kernels.empty()) << plan.spec.canonical_json();
    if (only_makes(std::vector{plan})) return;
    const GemmSpec& spec = plan.spec.gemm();
    CheckOptions options{m_list};
    options.cublas = !spec.epilogue.bias && !spec.epilogue.residual && !spec.epilogue.gated &&
                     !spec.output && spec.epilogue.activation == Activation::kNone;
    expect_passed(plan.spec, run_gemm(GemmKernel(runtime().load(plan)), options));
  }
  static void expect_passed(const Spec& spec, const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      SCOPED_TRACE(spec.canonical_json() + " M = " + std::to_string(check.m));
      EXPECT_EQ(check.fault(), "");
      // A few outputs are too few for a ratio of two roundings.
      if (check.cublas_error && check.m * spec.gemm().shape.n >= 1000) {
        EXPECT_LE(check.error, kErrorRatio * *check.cublas_error);
      }
    }
  }

  KernelRotation rotation_;
  int checked_ = 0;
  int left_out_ = 0;
};

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
