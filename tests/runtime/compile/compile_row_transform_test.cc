// The kernels of row_transform, which an architecture of each kind has a part of: they compile, fit
// the register file, and nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

// The ways to store 8 bits, by turns.
RowOutputSpec output_of(std::size_t turn) {
  RowOutputSpec output;
  output.dtype = static_cast<RowDtype>(2 + turn % 3);
  output.granularity = static_cast<RowGranularity>(1 + turn / 3 % 3);
  output.pre_scale = turn / 9 % 2 == 1;
  const bool integer = output.dtype == RowDtype::kInt8;
  const bool groups = output.granularity == RowGranularity::kGroup;
  output.symmetric = !integer || output.granularity != RowGranularity::kToken || turn % 2 == 0;
  if (groups && turn % 2 == 1) output.scale_layout = ScaleLayout::kColumnMajor;
  if (groups && !integer && turn % 4 >= 2) output.scale_dtype = RowScaleDtype::kE8m0;
  return output;
}

// Every size with every norm, and every gate and activation; the rest takes turns.
std::vector<RowTransformSpec> every_row_spec() {
  std::vector<RowTransformSpec> specs;
  const auto add = [&](RowTransformSpec spec) {
    spec.input = specs.size() % 2 == 0 ? DType::kBf16 : DType::kFp16;
    if (!spec.output.is_quantized()) spec.output.dtype = row_dtype(spec.input);
    specs.push_back(spec);
  };
  for (const int columns : {8, 64, 96, 128, 1024, 2048, 4096, 5120, 8192, 12288, 12296, 16384,
                            16392, 18432, 24576, 32768, 32776, 65536}) {
    for (const auto type : {NormType::kRms, NormType::kLayer}) {
      for (const bool residual : {false, true}) {
        RowTransformSpec spec;
        spec.shape.columns = columns;
        spec.residual = residual;
        spec.norm = {type, 1e-6F, static_cast<int>(specs.size() % 3 == 0), false};
        add(spec);
        if (type != NormType::kLayer) continue;
        spec.norm.bias = true;
        add(spec);
      }
    }
  }
  for (const int columns : {8, 96, 2048, 14336, 28672}) {
    for (const auto order : {GateOrder::kNone, GateOrder::kHalves, GateOrder::kInterleaved}) {
      for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                    Activation::kGeluTanh, Activation::kSilu}) {
        if (order == GateOrder::kNone && activation == Activation::kNone) continue;
        RowTransformSpec spec;
        spec.shape.columns = columns;
        spec.gate = {order, activation};
        add(spec);
      }
    }
  }
  std::size_t turn = 0;
  for (const int columns : {8, 136, 4096, 5120, 8192, 14336, 16392, 28672, 32776}) {
    RowTransformSpec plain;
    plain.shape.columns = columns;
    RowTransformSpec gate = plain;
    gate.gate = {columns % 3 == 0 ? GateOrder::kInterleaved : GateOrder::kHalves,
                 columns % 5 == 0 ? Activation::kGelu : Activation::kSilu};
    RowTransformSpec rms = plain;
    rms.norm = {NormType::kRms, 1e-6F, 0, false};
    RowTransformSpec layer = plain;
    layer.residual = true;
    layer.norm = {NormType::kLayer, 1e-6F, 0, true};
    // A scale for each row is what takes most registers.
    for (RowTransformSpec spec : {plain, gate, rms, layer}) {
      spec.output = output_of(turn);
      add(spec);
      spec.output = output_of(3 + turn % 3 + (turn % 4 < 2 ? 9 : 0));
      add(spec);
      ++turn;
    }
  }
  return specs;
}

class CompileRowTransform : public testing::TestWithParam<int> {};

TEST_P(CompileRowTransform, WithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  std::vector<Source> sources;
  const std::vector<RowTransformSpec> all = every_row_spec();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!every_kernel() && i / 3 % 2 != 0) continue;  // half of the specs, of both types
    if (!has_turn(i, target.arch())) continue;
    RowTransformSpec spec = all[i];
    if (target.arch() < 80) {
      spec.input = DType::kFp16;
      if (!spec.output.is_quantized()) spec.output.dtype = RowDtype::kFp16;
    }
    const Plan plan = resolve(Spec::from_row_transform(spec), target);
    add_in_turns(plan, 2, i + i / 2, &sources);  // the types alternate
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileRowTransform, testing::Values(75, 80, 90, 120),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
