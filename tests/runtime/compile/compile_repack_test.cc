// repack and quantize_weight, which an architecture of each kind has a part of: they compile, and
// nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

constexpr int kArchs[] = {75, 80, 90, 120};

void set_interleave(Interleave interleave, WeightSpec* weight) {
  weight->interleave = interleave;
  if (interleave != Interleave::kPermutation) return;
  weight->permutation.resize(32 / weight->bits);
  std::iota(weight->permutation.rbegin(), weight->permutation.rend(), 0);
}

std::vector<Interleave> interleaves_of(int bits) {
  std::vector<Interleave> all{Interleave::kFragment, Interleave::kLinear};
  if (32 % bits == 0) {
    all.push_back(Interleave::kEvenOdd);
    all.push_back(Interleave::kPermutation);
  }
  if (bits == 4) all.push_back(Interleave::kAwq);
  if (bits == 4 || bits == 8) all.push_back(Interleave::kTrtllm);
  return all;
}

class CompileRepack : public testing::TestWithParam<int> {
 protected:
  Target target() const { return target_from_name("sm_" + std::to_string(GetParam())); }
  void add(Op op, const WeightOpSpec& spec) {
    if (!has_turn(added_++, GetParam())) return;
    sources_.push_back(render(resolve(Spec::from_weight_op(op, spec), target()), 0));
  }
  void expect_no_spills() { heddle::expect_no_spills(sources_, target()); }

  std::vector<Source> sources_;
  std::size_t added_ = 0;
};

TEST_P(CompileRepack, EveryFormatWidthAndInterleave) {
  int i = 0;
  for (const CheckpointFormat format :
       {CheckpointFormat::kAwq, CheckpointFormat::kGptq, CheckpointFormat::kGptqV2}) {
    const bool awq = format == CheckpointFormat::kAwq;
    for (const int bits : awq ? std::vector<int>{4} : std::vector<int>{2, 3, 4, 8}) {
      for (const Interleave interleave : interleaves_of(bits)) {
        WeightOpSpec spec;
        spec.format = format;
        spec.weight.bits = bits;
        set_interleave(interleave, &spec.weight);
        // The rest goes round, so that each value meets many others.
        const bool whole = i % 2 == 0;
        spec.shape = {whole ? 512 : 288, whole ? 1024 : 1056};
        spec.weight.zero_point = i % 3 == 0 ? ZeroPoint::kNone : ZeroPoint::kInt;
        const int groups[] = {128, 32, kPerChannel, 16};
        spec.weight.group_size = whole ? groups[i % 4] : groups[1 + i % 3];
        const DType scales[] = {DType::kFp16, DType::kFp32, DType::kBf16};
        spec.weight.scale_dtype = scales[i % 3];
        spec.act_order = !awq && i % 4 == 3;
        spec.gated = i % 5 < 2;
        add(Op::kRepack, spec);
        ++i;
      }
    }
  }
  expect_no_spills();
}

TEST_P(CompileRepack, EveryCodeThatIsQuantizedTo) {
  const DType scales[] = {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0, DType::kE4m3};
  const int groups[] = {128, 32, kPerChannel, 96, 16};
  int i = 0;
  const auto add_next = [&](int bits, WeightType type, ZeroPoint zero) {
    WeightOpSpec spec;
    const bool whole = i % 2 == 0;
    spec.shape = {whole ? 512 : 72, whole ? 1536 : 480};
    spec.weight.bits = bits;
    spec.weight.type = type;
    spec.weight.zero_point = zero;
    spec.weight.scale_dtype = scales[i % 5];
    const int group = groups[i % 4];
    spec.weight.group_size = whole || group != 128 ? group : 16;
    spec.dtype = GetParam() >= 80 && i % 3 == 0 ? DType::kBf16 : DType::kFp16;
    spec.gated = whole && i % 3 == 2;
    add(Op::kQuantizeWeight, spec);
    ++i;
  };
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      add_next(bits, type, ZeroPoint::kInt);
      if (bits > 1) add_next(bits, type, ZeroPoint::kNone);
    }
  }
  for (const auto& [type, bits] : {std::pair{WeightType::kE4m3, 8},
                                   {WeightType::kE5m2, 8},
                                   {WeightType::kE2m3, 6},
                                   {WeightType::kE3m2, 6},
                                   {WeightType::kE2m1, 4}}) {
    add_next(bits, type, ZeroPoint::kNone);
  }
  expect_no_spills();
}

TEST_P(CompileRepack, CodesThatAreMultipliedAsTheyAre) {
  const DType scales[] = {DType::kFp16, DType::kBf16, DType::kFp32};
  int i = 0;
  for (const WeightType type : {WeightType::kInt, WeightType::kE4m3, WeightType::kE5m2}) {
    for (const bool blocks : {false, true}) {
      for (const bool gated : {false, true}) {
        if (blocks && type == WeightType::kInt) continue;
        WeightOpSpec spec;
        spec.shape = {gated ? 512 : 264, i % 2 == 0 ? 1024 : 416};
        spec.weight.bits = 8;
        spec.weight.type = type;
        spec.weight.interleave = Interleave::kSwizzle128b;
        spec.weight.group_size = blocks ? kBlockRows : kPerChannel;
        spec.weight.group_rows = blocks ? kBlockRows : 1;
        spec.weight.scale_dtype = blocks ? DType::kFp32 : scales[i % 3];
        spec.dtype = GetParam() >= 80 && i % 2 == 0 ? DType::kBf16 : DType::kFp16;
        spec.gated = gated;
        add(Op::kQuantizeWeight, spec);
        ++i;
      }
    }
  }
  expect_no_spills();
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileRepack, testing::ValuesIn(kArchs),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
