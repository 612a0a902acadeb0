// Fixtures of the tests of operations other than gemm.
#ifndef HEDDLE_TESTS_GPU_OPERATION_FIXTURE_H_
#define HEDDLE_TESTS_GPU_OPERATION_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/pairwise.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

// The first thing that is wrong with the kernel's results on random data; empty if nothing is.
inline std::string fault_of(const Kernel& kernel, const CheckOptions& options) {
  for (const Check& check : harness_of(kernel.plan().spec).check(kernel, options)) {
    if (!check.passed()) return check.fault();
  }
  return {};
}

// A test adds specs. When it ends, a part of them that has every pair of values is chosen, their
// kernels are compiled together, and each one runs.
class OperationGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }
  void add(const Spec& spec) { specs_.push_back(spec); }
  std::size_t added() const { return specs_.size(); }
  // The random data's, of the i-th kernel.
  virtual std::uint32_t seed_of(std::size_t i) const { return static_cast<std::uint32_t>(i); }

  void TearDown() override {
    if (IsSkipped()) return;
    const std::vector<Spec> specs = pairwise(specs_);
    if (only_makes(specs)) return OnGpu::TearDown();
    const std::vector<Kernel> kernels = runtime().prepare(specs);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      SCOPED_TRACE(specs[i].canonical_json());
      // Behind a fault of the device nothing else can run.
      const auto check = [&] { EXPECT_EQ(fault_of(kernels[i], {{}, seed_of(i)}), ""); };
      [&] { ASSERT_NO_THROW(check()); }();
      if (HasFatalFailure()) return;
    }
  }

 private:
  std::vector<Spec> specs_;
};

class WeightOpGpu : public OperationGpu {
 protected:
  void add(Op op, const WeightOpSpec& spec) { OperationGpu::add(Spec::from_weight_op(op, spec)); }
  // In both types that W may have.
  void add_both(Op op, WeightOpSpec spec) {
    spec.dtype = DType::kFp16;
    add(op, spec);
    spec.dtype = DType::kBf16;
    if (has_bf16(target())) add(op, spec);
  }
  std::uint32_t seed_of(std::size_t i) const override { return static_cast<std::uint32_t>(i + 1); }
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_OPERATION_FIXTURE_H_
