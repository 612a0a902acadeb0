// GEMM fed by bulk copies: what the planner takes for every number of row blocks that it serves
// compiles without spills, for every way of decoding and scaling. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <iterator>

#include "tests/runtime/compile_check.h"

namespace heddle {
namespace {

struct Case {
  int bits;
  int group_size;
  ZeroPoint zero_point;
  DType scale_dtype;
  WeightType type = WeightType::kUint;
};

// A scale type other than the activation's keeps the scale on the sums, for any number of tokens.
const Case kCases[] = {
    {4, 128, ZeroPoint::kNone, DType::kFp16},
    {4, 128, ZeroPoint::kInt, DType::kBf16},
    {4, 16, ZeroPoint::kInt, DType::kFp16},
    {4, 32, ZeroPoint::kNone, DType::kFp32},
    {4, kPerChannel, ZeroPoint::kInt, DType::kFp32},
    {2, 16, ZeroPoint::kInt, DType::kFp32},
    {3, 64, ZeroPoint::kInt, DType::kFp32},
    {5, 128, ZeroPoint::kInt, DType::kBf16},
    {6, 32, ZeroPoint::kNone, DType::kFp16},
    {7, kPerChannel, ZeroPoint::kInt, DType::kBf16},
    {8, 128, ZeroPoint::kInt, DType::kFp16},
    {8, 128, ZeroPoint::kNone, DType::kFp32, WeightType::kE4m3},
    {8, 128, ZeroPoint::kNone, DType::kFp16, WeightType::kE4m3},
    {4, 128, ZeroPoint::kNone, DType::kBf16, WeightType::kE2m1},
    {4, 16, ZeroPoint::kNone, DType::kE4m3, WeightType::kE2m1},
    {4, 32, ZeroPoint::kNone, DType::kE8m0, WeightType::kE2m1},
    {4, 64, ZeroPoint::kNone, DType::kFp16, WeightType::kNf4},
};
constexpr int kMostRowBlocks = 18;  // of an SM

GemmSpec spec_of(const Case& c, DType dtype, int row_blocks, std::int64_t k) {
  GemmSpec spec;
  // Ragged where it may be, at the end of N.
  spec.shape = {16 * 132 * row_blocks - 8, k, 1, 32};
  spec.activation = dtype;
  spec.weight.bits = c.bits;
  spec.weight.group_size = c.group_size;
  spec.weight.zero_point = c.zero_point;
  spec.weight.scale_dtype = c.scale_dtype;
  spec.weight.type = c.type;
  spec.epilogue.bias = row_blocks % 2 == 0;
  spec.epilogue.residual = row_blocks % 2 == 0;
  return spec;
}

TEST(CompileBulk, WhatThePlannerTakes) {
  std::vector<Source> sources;
  std::size_t number = 0;
  for (const Case& c : kCases) {
    for (int row_blocks = 1; row_blocks <= kMostRowBlocks; ++row_blocks) {
      for (const std::int64_t k : {4096, 14464}) {
        for (const DType dtype : {DType::kFp16, DType::kBf16}) {
          if (!every_kernel() && number++ % 7 != 0) continue;
          const Plan plan =
              resolve(Spec::from_gemm(spec_of(c, dtype, row_blocks, k)), target_from_name("h200"));
          for (std::size_t i = 0; i < plan.variants.size(); ++i) {
            if (plan.variants[i].kernel != GemmKernel::kBulk) continue;
            Source source = render(plan, i);
            EXPECT_NE(source.text.find("cp.async.bulk.tensor"), std::string::npos);
            sources.push_back(std::move(source));
          }
        }
      }
    }
  }
  EXPECT_GT(sources.size(), 100U);
  expect_no_spills(sources, target_from_name("h200"));
}

}  // namespace
}  // namespace heddle
