// Fixture of the tests of operations on weights.
#ifndef HEDDLE_TESTS_GPU_WEIGHT_OP_FIXTURE_H_
#define HEDDLE_TESTS_GPU_WEIGHT_OP_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "generator/target/capabilities.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/pairwise.h"

namespace heddle {

// A test adds specs. When it ends, a part of them that has every pair of values is chosen, their
// kernels are compiled together, and each one runs.
class WeightOpGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }
  void add(Op op, const WeightOpSpec& spec) { specs_.push_back(Spec::from_weight_op(op, spec)); }
  // In both types that W may have.
  void add_both(Op op, WeightOpSpec spec) {
    spec.dtype = DType::kFp16;
    add(op, spec);
    spec.dtype = DType::kBf16;
    if (has_bf16(target())) add(op, spec);
  }
  // Compares what the kernel gives with what the host does.
  virtual void run(const Kernel& kernel, std::uint32_t seed) = 0;

  void TearDown() override {
    if (IsSkipped()) return;
    ASSERT_FALSE(specs_.empty());
    const std::vector<Spec> specs = pairwise(specs_);
    if (only_makes(specs)) return OnGpu::TearDown();
    const std::vector<Kernel> kernels = runtime().prepare(specs);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      SCOPED_TRACE(specs[i].canonical_json());
      run(kernels[i], static_cast<std::uint32_t>(i + 1));
    }
  }

 private:
  std::vector<Spec> specs_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_WEIGHT_OP_FIXTURE_H_
