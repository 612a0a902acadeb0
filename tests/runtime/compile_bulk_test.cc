// GEMM fed by bulk copies: what the planner takes for every number of row blocks that it serves
// compiles without spills, for every way of decoding and scaling. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "generator/planner/gemm_variant.h"
#include "tests/runtime/compile_check.h"
#include "tests/runtime/weight_cases.h"

namespace heddle {
namespace {

constexpr int kMostRowBlocks = 18;  // of an SM

GemmSpec spec_of(const WeightCase& c, DType dtype, int row_blocks, std::int64_t k) {
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
  for (const WeightCase& c : kWeightCases) {
    for (int row_blocks = 1; row_blocks <= kMostRowBlocks; ++row_blocks) {
      for (const std::int64_t k : {4096, 14464}) {
        for (const DType dtype : {DType::kFp16, DType::kBf16}) {
          if (!every_kernel() && number++ % 11 != 0) continue;
          const Plan plan =
              resolve(Spec::from_gemm(spec_of(c, dtype, row_blocks, k)), target_from_name("h200"));
          for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
            if (variant_of(plan.kernels[i]).kernel != GemmKernel::kBulk) continue;
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
