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

TEST_P(GemmGpuOfType, FloatAndTableCodes) {
  const DType dtype = GetParam();
  for (const Code code : kCodes) {
    for (const int group : {kPerChannel, kPerTensor, 16, 32, 96}) {
      check(coded(code.type, code.bits, dtype, group), kSomeM);
    }
    GemmSpec wide = coded(code.type, code.bits, dtype, 128);
    wide.shape.k = 1280;
    check(wide, kSomeM);
  }
}

TEST_F(GemmGpu, MxAndNvFormats) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const Code code : kCodes) {
      GemmSpec mx = coded(code.type, code.bits, dtype, 32);
      mx.weight.scale_dtype = DType::kE8m0;
      check(mx, kSomeM);
    }
    GemmSpec nv = coded(WeightType::kE2m1, 4, dtype, 16);
    nv.weight.scale_dtype = DType::kE4m3;
    nv.weight.tensor_scale = true;
    check(nv, kSomeM);
    nv.weight.tensor_scale = false;
    check(nv, kSomeM);
  }
}

TEST_P(GemmGpuOfType, ScalesOfEveryTypeAndATensorScale) {
  for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0, DType::kE4m3}) {
    for (const int group : {16, 128, kPerChannel, kPerTensor}) {
      GemmSpec spec = spec_of(264, 1280, GetParam(), group, ZeroPoint::kInt);
      spec.weight.scale_dtype = scale;
      spec.weight.tensor_scale = group != 128;
      check(spec, kSomeM);
    }
  }
}

TEST_F(GemmGpu, FloatZeroPoints) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      for (const int group : {16, 64, 128, kPerChannel, kPerTensor}) {
        GemmSpec spec = spec_of(264, 1280, dtype, group, ZeroPoint::kFloat);
        spec.weight.bits = bits;
        spec.weight.type = group == 64 ? WeightType::kInt : WeightType::kUint;
        if (group == 128) spec.weight.scale_dtype = DType::kFp32;
        check(spec, kSomeM);
      }
    }
  }
}

TEST_F(GemmGpu, GroupsThatAreMultiplesOf16) {
  for (const int group : {48, 80, 96, 112, 160, 192, 240}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = spec_of(136, 4 * group, DType::kFp16, group, zero);
      check(spec, kSomeM);
    }
  }
}

TEST_F(GemmGpu, EveryInterleave) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const Interleave interleave : {Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd,
                                        Interleave::kTrtllm, Interleave::kPermutation}) {
      GemmSpec spec = spec_of(264, 1280, dtype, 64, ZeroPoint::kInt);
      spec.weight.interleave = interleave;
      if (interleave == Interleave::kPermutation)
        spec.weight.permutation = {7, 2, 5, 0, 1, 6, 3, 4};
      check(spec, kSomeM);
    }
    for (const int bits : {1, 2, 3, 5, 6, 7, 8}) {
      GemmSpec spec = spec_of(264, 1280, dtype, 128, ZeroPoint::kNone);
      spec.weight.bits = bits;
      spec.weight.interleave = bits == 8 ? Interleave::kTrtllm : Interleave::kLinear;
      check(spec, kSomeM);
    }
    GemmSpec table = coded(WeightType::kNf4, 4, dtype, 32);
    table.weight.interleave = Interleave::kAwq;
    check(table, kSomeM);
  }
}

TEST_F(GemmGpu, ColumnsOfXScaledAndPermuted) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const bool pre_scale : {false, true}) {
      for (const bool act_order : {false, true}) {
        for (const std::int64_t k : {1056, 4096}) {
          GemmSpec spec = spec_of(264, k, dtype, 32, ZeroPoint::kInt);
          spec.shape.m_max = 512;
          spec.pre_scale = pre_scale;
          spec.act_order = act_order;
          check(spec, {1, 8, 20, 64, 130, 300, 5});
        }
      }
    }
  }
}

TEST_F(GemmGpu, TheTuringPathKnowsEveryKindOfWeight) {
  for (const Code code : kCodes) {
    GemmSpec spec = coded(code.type, code.bits, DType::kFp16, 32);
    spec.path = Path::kTuring;
    check(spec, kSomeM);
  }
  GemmSpec zeros = spec_of(264, 1280, DType::kFp16, 64, ZeroPoint::kFloat);
  zeros.path = Path::kTuring;
  zeros.pre_scale = true;
  check(zeros, kSomeM);
}

}  // namespace
}  // namespace heddle
