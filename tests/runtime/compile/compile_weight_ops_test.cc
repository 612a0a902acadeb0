// The kernels of operations on weights, which an architecture of each kind has a part of: they
// compile, fit the register file, and nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

constexpr DType kOutputs[] = {DType::kFp16, DType::kBf16};
constexpr DType kScales[] = {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0, DType::kE4m3};

// Every other spec has a shape that no tile divides.
class DequantizeSpecs {
 public:
  void add(WeightOpSpec spec, DType dtype) {
    const bool ragged = all_.size() % 2 == 1;
    spec.shape =
        ragged ? MatrixShape{1056 - 32 * (all_.size() % 4 == 1), 1056} : MatrixShape{4096, 4096};
    const bool any_group = !spec.weight.has_blocks();
    if (ragged && any_group && spec.weight.group_size > 32) spec.weight.group_size = 48;
    if (ragged && spec.weight.group_size == 48) spec.shape.k = 1056;
    spec.dtype = dtype;
    all_.push_back(spec);
  }
  // With the scales of the output's type, the one that matters most, and in turn another.
  void add_both(const WeightOpSpec& spec) {
    for (const DType dtype : kOutputs) {
      WeightOpSpec own = spec;
      own.weight.scale_dtype = dtype;
      add(own, dtype);
    }
  }
  const std::vector<WeightOpSpec>& all() const { return all_; }

 private:
  std::vector<WeightOpSpec> all_;
};

WeightOpSpec spec_of(CheckpointFormat format, int bits, int group, ZeroPoint zero) {
  WeightOpSpec spec;
  spec.format = format;
  spec.weight.bits = bits;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  return spec;
}

void add_packed(DequantizeSpecs& specs) {
  constexpr auto kHeddle = CheckpointFormat::kHeddle;
  for (int bits = 1; bits <= 8; ++bits) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      specs.add_both(spec_of(kHeddle, bits, bits % 2 == 0 ? 128 : 16, zero));
    }
  }
  const struct {
    WeightType type;
    int bits;
  } types[] = {{WeightType::kE4m3, 8}, {WeightType::kE5m2, 8}, {WeightType::kE2m3, 6},
               {WeightType::kE3m2, 6}, {WeightType::kE2m1, 4}, {WeightType::kNf4, 4}};
  for (const auto& [type, bits] : types) {
    WeightOpSpec spec = spec_of(kHeddle, bits, 16, ZeroPoint::kNone);
    spec.weight.type = type;
    specs.add_both(spec);
  }
  for (const DType scale : kScales) {
    for (const DType dtype : kOutputs) {
      WeightOpSpec spec = spec_of(kHeddle, 4, 16, ZeroPoint::kNone);
      spec.weight.type = WeightType::kE2m1;
      spec.weight.scale_dtype = scale;
      spec.weight.tensor_scale = true;
      specs.add(spec, dtype);
    }
  }
  for (const Interleave interleave :
       {Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd, Interleave::kTrtllm}) {
    WeightOpSpec spec = spec_of(kHeddle, 4, 128, ZeroPoint::kInt);
    spec.weight.interleave = interleave;
    specs.add_both(spec);
  }
  WeightOpSpec permuted = spec_of(kHeddle, 4, kPerChannel, ZeroPoint::kInt);
  permuted.act_order = true;
  specs.add_both(permuted);
  for (const bool act_order : {false, true}) {
    WeightOpSpec gated = spec_of(kHeddle, 4, 128, ZeroPoint::kInt);
    gated.act_order = act_order;
    gated.gated = true;
    specs.add_both(gated);
  }
}

// Each kind of code, and scales per channel and of blocks.
void add_swizzled(DequantizeSpecs& specs) {
  WeightOpSpec spec = spec_of(CheckpointFormat::kHeddle, 8, kPerChannel, ZeroPoint::kNone);
  spec.weight.interleave = Interleave::kSwizzle128b;
  for (const WeightType type : {WeightType::kInt, WeightType::kE4m3, WeightType::kE5m2}) {
    spec.weight.type = type;
    specs.add_both(spec);
    WeightOpSpec blocks = spec;
    blocks.weight.scale_dtype = DType::kFp32;
    if (type != WeightType::kInt) blocks.weight.group_size = blocks.weight.group_rows = kBlockRows;
    for (const DType dtype : kOutputs) specs.add(blocks, dtype);
  }
}

void add_checkpoints(DequantizeSpecs& specs) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const int bits : {2, 3, 4, 8}) {
      for (const bool act_order : {false, true}) {
        WeightOpSpec spec = spec_of(CheckpointFormat::kGptq, bits, act_order ? 128 : 16, zero);
        spec.act_order = act_order;
        specs.add_both(spec);
      }
    }
    for (const int group : {16, 128}) {
      specs.add_both(spec_of(CheckpointFormat::kAwq, 4, group, zero));
      // Once more: the shape is now the other one.
      specs.add(spec_of(CheckpointFormat::kAwq, 4, group, zero), DType::kFp16);
    }
  }
  specs.add_both(spec_of(CheckpointFormat::kGptqV2, 4, 128, ZeroPoint::kInt));
  for (const DType scale : kScales) {
    for (const CheckpointFormat format : {CheckpointFormat::kGptq, CheckpointFormat::kAwq}) {
      WeightOpSpec spec = spec_of(format, 4, 128, ZeroPoint::kInt);
      spec.weight.scale_dtype = scale;
      specs.add(spec, DType::kFp16);
      specs.add(spec, DType::kBf16);
    }
  }
}

class CompileWeightOps : public testing::TestWithParam<int> {};

TEST_P(CompileWeightOps, DequantizeWithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  DequantizeSpecs specs;
  add_packed(specs);
  add_swizzled(specs);
  add_checkpoints(specs);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < specs.all().size(); ++i) {
    const WeightOpSpec& spec = specs.all()[i];
    if (spec.dtype == DType::kBf16 && target.arch() < 80) continue;
    if (!has_turn(i, target.arch())) continue;
    sources.push_back(render(resolve(Spec::from_weight_op(Op::kDequantize, spec), target), 0));
  }
  expect_no_spills(sources, target);
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileWeightOps, testing::Values(75, 80, 90, 120),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
