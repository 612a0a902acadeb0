// row_transform on the GPU, against FP64. Skips where there is no GPU.
#include <gtest/gtest.h>

#include "tests/gpu/kernel_rotation.h"
#include "tests/gpu/operation_fixture.h"

namespace heddle {
namespace {

class RowTransformGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }

  // Both types take turns where the GPU has both.
  void add(RowTransformSpec spec, int columns) {
    const bool bf16 = target().arch() >= 80 && specs_.size() % 2 == 1;
    spec.shape.columns = columns;
    spec.input = bf16 ? DType::kBf16 : DType::kFp16;
    if (!spec.output.is_quantized()) spec.output.dtype = row_dtype(spec.input);
    specs_.push_back(Spec::from_row_transform(spec));
  }
  void add_norm(NormType type, bool residual, bool bias, int columns) {
    RowTransformSpec spec;
    spec.residual = residual;
    spec.norm = {type, 1e-5F, static_cast<int>(specs_.size() % 3 == 0), bias};
    add(spec, columns);
  }

  // All ways to store 8 bits behind the same work.
  void add_every_output(const RowTransformSpec& work, int columns) {
    for (const auto dtype : {RowDtype::kInt8, RowDtype::kFp8E4m3, RowDtype::kFp8E5m2}) {
      for (const auto granularity :
           {RowGranularity::kTensor, RowGranularity::kToken, RowGranularity::kGroup}) {
        RowTransformSpec spec = work;
        spec.output.dtype = dtype;
        spec.output.granularity = granularity;
        spec.output.pre_scale = specs_.size() % 3 == 0;
        if (granularity == RowGranularity::kGroup) {
          if (specs_.size() % 2 == 0) spec.output.scale_layout = ScaleLayout::kColumnMajor;
          add(spec, columns);
          if (dtype == RowDtype::kInt8) continue;
          spec.output.scale_dtype = RowScaleDtype::kE8m0;
        } else if (granularity == RowGranularity::kToken && dtype == RowDtype::kInt8) {
          add(spec, columns);
          spec.output.symmetric = false;
        }
        add(spec, columns);
      }
    }
  }

  // For so many specs as have every pair of values one kernel each is made, all of them at the same
  // time; then each one runs.
  void TearDown() override {
    if (IsSkipped()) return;
    std::vector<Plan> plans;
    std::vector<std::vector<std::int64_t>> rows;
    for (const Spec& spec : pairwise(specs_)) {
      const Plan plan = resolve(spec, target());
      for (Plan& one : rotation_.plans_of_one(plan, rows_of(plan))) {
        rows.push_back(served_by(one, rows_of(plan)));
        plans.push_back(std::move(one));
      }
    }
    if (only_makes(plans)) return OnGpu::TearDown();
    make(plans);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Kernel kernel = runtime().load(plans[i]);
      for (const std::int64_t m : rows[i]) {
        EXPECT_EQ(fault_of(kernel, {{m}, static_cast<std::uint32_t>(i)}), "")
            << plans[i].spec.canonical_json() << ", M = " << m;
      }
    }
  }

 private:
  // Around the ends of what each kernel serves, as far as these are few.
  static std::vector<std::int64_t> rows_of(const Plan& plan) {
    std::vector<std::int64_t> rows = {1, 2, 3, 17, 129};
    for (const PlannedKernel& kernel : plan.kernels) {
      if (kernel.size_min > 1 && kernel.size_min <= 3000) {
        rows.push_back(kernel.size_min - 1);
        rows.push_back(kernel.size_min);
        rows.push_back(2 * kernel.size_min + 5);
      }
    }
    return rows;
  }

  std::vector<Spec> specs_;
  KernelRotation rotation_;
};

constexpr int kColumns[] = {8, 64, 96, 128, 1000, 2048, 4096, 5120, 8192, 12288, 18432, 32776};

TEST_F(RowTransformGpu, RmsNorms) {
  for (const int columns : kColumns) {
    for (const bool residual : {false, true}) add_norm(NormType::kRms, residual, false, columns);
  }
}

TEST_F(RowTransformGpu, LayerNorms) {
  for (const int columns : kColumns) {
    for (const bool residual : {false, true}) {
      for (const bool bias : {false, true}) add_norm(NormType::kLayer, residual, bias, columns);
    }
  }
}

TEST_F(RowTransformGpu, GatesAndActivations) {
  for (const int columns : {8, 96, 2048, 14336}) {
    for (const auto order : {GateOrder::kNone, GateOrder::kHalves, GateOrder::kInterleaved}) {
      for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                    Activation::kGeluTanh, Activation::kSilu, Activation::kRelu2}) {
        if (order == GateOrder::kNone && activation == Activation::kNone) continue;
        RowTransformSpec spec;
        spec.gate = {order, activation};
        add(spec, columns);
      }
    }
  }
}

// For X alone codes and scales are exact.
TEST_F(RowTransformGpu, EightBits) {
  for (const int columns : {8, 64, 136, 1000, 4096, 8192, 32776}) add_every_output({}, columns);
}

TEST_F(RowTransformGpu, EightBitsBehindNorms) {
  for (const int columns : {96, 4096, 5120, 32776}) {
    RowTransformSpec spec;
    spec.residual = columns % 5 != 0;
    spec.norm = {NormType::kRms, 1e-5F, 0, false};
    add_every_output(spec, columns);
    spec.norm = {NormType::kLayer, 1e-5F, 0, columns % 2 == 0};
    add_every_output(spec, columns);
  }
}

TEST_F(RowTransformGpu, EightBitsBehindGates) {
  for (const int columns : {96, 2048, 14336, 28672}) {
    RowTransformSpec spec;
    spec.gate = {columns % 7 == 0 ? GateOrder::kInterleaved : GateOrder::kHalves,
                 columns % 3 == 0 ? Activation::kGeluTanh : Activation::kSilu};
    add_every_output(spec, columns);
  }
}

}  // namespace
}  // namespace heddle
