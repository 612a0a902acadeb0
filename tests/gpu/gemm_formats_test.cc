// GEMM on the GPU with every kind of weight but plain integers, which gemm_test.cc has: float
// codes, a code table, MX and NV scales, float zero points, odd groups, interleaves; and what is
// done to X first.
#include "tests/gpu/gemm_fixture.h"

namespace heddle {
namespace {

const std::vector<std::int64_t> kSomeM{1, 7, 20, 50, 100, 300};

GemmSpec coded(WeightType type, int bits, DType dtype, int group) {
  GemmSpec spec = spec_of(264, 1056, dtype, group, ZeroPoint::kNone);
  spec.weight.type = type;
  spec.weight.bits = bits;
  return spec;
}

struct Code {
  WeightType type;
  int bits;
};
constexpr Code kCodes[] = {{WeightType::kE4m3, 8}, {WeightType::kE5m2, 8}, {WeightType::kE2m3, 6},
                           {WeightType::kE3m2, 6}, {WeightType::kE2m1, 4}, {WeightType::kNf4, 4}};

TEST_F(GemmGpu, FloatAndTableCodes) {
  constexpr int kGroups[] = {kPerChannel, kPerTensor, 16, 32, 96, 128};
  for (std::size_t i = 0; i < std::size(kCodes); ++i) {
    for (std::size_t j = 0; j < std::size(kGroups); ++j) {
      GemmSpec spec =
          coded(kCodes[i].type, kCodes[i].bits, rotate(kSixteenBitTypes, i + j), kGroups[j]);
      if (kGroups[j] == 128) spec.shape.k = 1280;
      check_in_turn(spec, kSomeM);
    }
  }
}

TEST_F(GemmGpu, MxAndNvFormats) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const Code code : kCodes) {
      GemmSpec mx = coded(code.type, code.bits, dtype, 32);
      mx.weight.scale_dtype = DType::kE8m0;
      check_in_turn(mx, kSomeM);
    }
    GemmSpec nv = coded(WeightType::kE2m1, 4, dtype, 16);
    nv.weight.scale_dtype = DType::kE4m3;
    nv.weight.tensor_scale = true;
    check_in_turn(nv, kSomeM);
    nv.weight.tensor_scale = false;
    check_in_turn(nv, kSomeM);
  }
}

TEST_F(GemmGpu, ScalesOfEveryTypeAndATensorScale) {
  std::size_t i = 0;
  for (const int group : {16, 128, kPerChannel, kPerTensor}) {
    for (const DType scale :
         {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0, DType::kE4m3}) {
      GemmSpec spec = spec_of(264, 1280, rotate(kSixteenBitTypes, i++), group, ZeroPoint::kInt);
      spec.weight.scale_dtype = scale;
      spec.weight.tensor_scale = group != 128;
      check_in_turn(spec, kSomeM);
    }
  }
}

TEST_F(GemmGpu, FloatZeroPoints) {
  std::size_t i = 0;
  for (const int bits : {2, 3, 4, 8}) {
    for (const int group : {16, 64, 128, kPerChannel, kPerTensor}) {
      GemmSpec spec = spec_of(264, 1280, rotate(kSixteenBitTypes, i++), group, ZeroPoint::kFloat);
      spec.weight.bits = bits;
      spec.weight.type = group == 64 ? WeightType::kInt : WeightType::kUint;
      if (group == 128) spec.weight.scale_dtype = DType::kFp32;
      check_in_turn(spec, kSomeM);
    }
  }
}

TEST_F(GemmGpu, GroupsThatAreMultiplesOf16) {
  std::size_t i = 0;
  constexpr ZeroPoint kZeroPoints[] = {ZeroPoint::kNone, ZeroPoint::kInt};
  for (const int group : {48, 80, 96, 112, 160, 192, 240}) {
    for (int j = 0; j < 3; ++j, ++i) {  // as many families serve kSomeM
      check_in_turn(
          spec_of(136, 4 * group, rotate(kSixteenBitTypes, i / 2), group, rotate(kZeroPoints, i)),
          kSomeM);
    }
  }
}

TEST_F(GemmGpu, EveryInterleave) {
  std::size_t i = 0;
  for (const int group : {32, 64, 128}) {  // as many families serve kSomeM
    for (const Interleave interleave : {Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd,
                                        Interleave::kTrtllm, Interleave::kPermutation}) {
      GemmSpec spec = spec_of(264, 1280, rotate(kSixteenBitTypes, i++), group, ZeroPoint::kInt);
      spec.weight.interleave = interleave;
      if (interleave == Interleave::kPermutation)
        spec.weight.permutation = {7, 2, 5, 0, 1, 6, 3, 4};
      check_in_turn(spec, kSomeM);
    }
  }
  for (const DType dtype : kSixteenBitTypes) {
    for (const int bits : {1, 2, 3, 5, 6, 7, 8}) {
      GemmSpec spec = spec_of(264, 1280, dtype, 128, ZeroPoint::kNone);
      spec.weight.bits = bits;
      spec.weight.interleave = bits == 8 ? Interleave::kTrtllm : Interleave::kLinear;
      check_in_turn(spec, kSomeM);
    }
    GemmSpec table = coded(WeightType::kNf4, 4, dtype, 32);
    table.weight.interleave = Interleave::kAwq;
    check_in_turn(table, kSomeM);
  }
}

TEST_F(GemmGpu, ColumnsOfXScaledAndPermuted) {
  for (const bool pre_scale : {false, true}) {
    for (const bool act_order : {false, true}) {
      constexpr std::int64_t kColumns[] = {1056, 4096};
      for (std::size_t i = 0; i < 3; ++i) {  // as many families serve the list of M
        GemmSpec spec = spec_of(264, rotate(kColumns, i + pre_scale),
                                rotate(kSixteenBitTypes, i + act_order), 32, ZeroPoint::kInt);
        spec.shape.m_max = 512;
        spec.pre_scale = pre_scale;
        spec.act_order = act_order;
        check_in_turn(spec, {1, 8, 20, 64, 130, 300});
      }
    }
  }
}

// What gathers X leaves the workspace to launches of another M.
TEST_F(GemmGpu, LaunchesThatGatherShareAWorkspace) {
  GemmSpec spec = spec_of(264, 4096, DType::kFp16, 32, ZeroPoint::kInt);
  spec.shape.m_max = 512;
  spec.act_order = true;
  check(spec, {64, 300, 5});
}

TEST_F(GemmGpu, TheTuringPathKnowsEveryKindOfWeight) {
  for (const Code code : kCodes) {
    for (const int group : {32, kPerChannel}) {
      GemmSpec spec = coded(code.type, code.bits, DType::kFp16, group);
      spec.path = Path::kTuring;
      check_in_turn(spec, kSomeM);
    }
  }
  GemmSpec zeros = spec_of(264, 1280, DType::kFp16, 64, ZeroPoint::kFloat);
  zeros.path = Path::kTuring;
  zeros.pre_scale = true;
  check_in_turn(zeros, kSomeM);
}

}  // namespace
}  // namespace heddle
