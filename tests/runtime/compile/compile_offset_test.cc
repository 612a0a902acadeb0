// Shards that begin inside of a group: the kernels that a plan has of every family compile without
// spills, and so do those of weight operations. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/planned_kernel.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

constexpr int kArchs[] = {75, 80, 90, 120};

struct OffsetCase {
  int group_size;
  int group_offset;
  ZeroPoint zero_point;
  DType scale_dtype;
  int bits = 4;
  WeightType type = WeightType::kUint;
};

// Entries that are cut in every way, with scales on weights and on sums.
const OffsetCase kOffsetCases[] = {
    {128, 96, ZeroPoint::kInt, DType::kFp16},
    {128, 16, ZeroPoint::kInt, DType::kFp32},
    {128, 32, ZeroPoint::kNone, DType::kFp16},
    {128, 64, ZeroPoint::kNone, DType::kFp32, 8, WeightType::kE4m3},
    {64, 32, ZeroPoint::kInt, DType::kFp32},
    {64, 48, ZeroPoint::kInt, DType::kFp16, 3},
    {32, 16, ZeroPoint::kInt, DType::kFp16},
    {32, 16, ZeroPoint::kNone, DType::kE8m0, 4, WeightType::kE2m1},
    {64, 16, ZeroPoint::kNone, DType::kE4m3, 4, WeightType::kE2m1},
    {256, 128, ZeroPoint::kInt, DType::kFp16},
    {256, 176, ZeroPoint::kInt, DType::kFp16, 8},
    {128, 80, ZeroPoint::kFloat, DType::kFp16},
};

GemmSpec offset_spec(const OffsetCase& c, DType dtype, bool large) {
  GemmSpec spec;
  spec.shape = {large ? 8192 : 1032, large ? 5504 : 1376, 1, 512};
  spec.activation = dtype;
  spec.weight.bits = c.bits;
  spec.weight.type = c.type;
  spec.weight.group_size = c.group_size;
  spec.weight.group_offset = c.group_offset;
  spec.weight.zero_point = c.zero_point;
  // A scale of 16 bits that is not of the activations' type stays on the sums.
  spec.weight.scale_dtype = c.scale_dtype == DType::kFp16 ? dtype : c.scale_dtype;
  return spec;
}

class CompileOffsets : public testing::TestWithParam<int> {
 protected:
  Target target() const { return target_from_name("sm_" + std::to_string(GetParam())); }
  std::size_t added_ = 0;
};

TEST_P(CompileOffsets, GemmsDoNotSpill) {
  std::vector<Source> sources;
  for (const OffsetCase& c : kOffsetCases) {
    const bool bf16 = added_ % 2 == 1 && GetParam() >= 80;
    const Spec spec =
        Spec::from_gemm(offset_spec(c, bf16 ? DType::kBf16 : DType::kFp16, added_ / 2 % 2 == 0));
    if (!has_turn(added_++, GetParam())) continue;
    add_kernels(resolve(spec, target()), added_, &sources);
  }
  expect_no_spills(sources, target());
}

// One token, for which a plan often has another family.
TEST_P(CompileOffsets, ProductsWithOneTokenDoNotSpill) {
  std::vector<Source> sources;
  for (const OffsetCase& c : kOffsetCases) {
    if (!has_turn(added_++, GetParam())) continue;
    Plan plan = resolve(Spec::from_gemm(offset_spec(c, DType::kFp16, false)), target());
    const auto is_gemv = [](const PlannedKernel& one) { return one.family->name() == "gemv"; };
    const auto kernel = fastest_kernel(plan, {1, 1}, is_gemv);
    ASSERT_TRUE(kernel);
    plan.kernels = {*kernel};
    sources.push_back(render(plan, 0));
  }
  expect_no_spills(sources, target());
}

TEST_P(CompileOffsets, WeightOperationsDoNotSpill) {
  std::vector<Source> sources;
  for (const OffsetCase& c : kOffsetCases) {
    if (!has_turn(added_++, GetParam())) continue;
    WeightOpSpec op;
    op.shape = {288, 1376};
    op.weight = offset_spec(c, DType::kFp16, false).weight;
    sources.push_back(render(resolve(Spec::from_weight_op(Op::kDequantize, op), target()), 0));
    op.weight.type = WeightType::kUint;
    op.weight.scale_dtype = DType::kFp16;
    op.weight.zero_point = ZeroPoint::kInt;
    for (const CheckpointFormat format : {CheckpointFormat::kAwq, CheckpointFormat::kGptq}) {
      op.format = format;
      op.weight.bits = format == CheckpointFormat::kAwq ? 4 : c.bits;
      for (const Op which : {Op::kDequantize, Op::kRepack}) {
        sources.push_back(render(resolve(Spec::from_weight_op(which, op), target()), 0));
      }
    }
  }
  expect_no_spills(sources, target());
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileOffsets, testing::ValuesIn(kArchs),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
