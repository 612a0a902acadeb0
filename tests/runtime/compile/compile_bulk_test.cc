// GEMM fed by bulk copies: what the planner takes for every number of row blocks that it serves,
// and tiles of which the blocks of a cluster share K, compile without spills, for every way of
// decoding and scaling. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <iterator>

#include "tests/gemm_tile.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/compile/compile_check.h"
#include "tests/runtime/weight_cases.h"

namespace heddle {
namespace {

constexpr int kMostRowBlocks = 18;  // of an SM
// One spec in so many is compiled: primes, so that over the loops each meets every inner case.
constexpr std::size_t kPlannedTurns = 23, kSplitTurns = 11;

GemmSpec bulk_spec(const WeightCase& c, DType dtype, int row_blocks, std::int64_t k) {
  GemmSpec spec;
  // Ragged where it may be, at the end of N.
  spec.shape = {16 * 132 * row_blocks - 8, k, 1, 32};
  spec.activation = dtype;
  spec.weight = weight_of(c);
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
          if (!every_kernel() && number++ % kPlannedTurns != 0) continue;
          const Plan plan = resolve(Spec::from_gemm(bulk_spec(c, dtype, row_blocks, k)),
                                    target_from_name("h200"));
          for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
            if (!is_bulk(plan.kernels[i])) continue;
            Source source = render(plan, i);
            EXPECT_NE(source.text.find("cp.async.bulk.tensor"), std::string::npos);
            sources.push_back(std::move(source));
          }
        }
      }
    }
  }
  EXPECT_FALSE(sources.empty());  // how many there are is for the costs to say
  expect_no_spills(sources, target_from_name("h200"));
}

// Tokens of a tile, its rows and columns of a stage, warps along N and K, blocks along K.
struct SplitTile {
  int tokens, rows, columns, warps_n, warps_k, split_k;
};
constexpr SplitTile kSplitTiles[] = {
    {16, 16, 512, 1, 4, 2}, {16, 32, 1024, 1, 8, 3}, {16, 64, 512, 2, 4, 5}, {16, 64, 512, 1, 4, 6},
    {16, 80, 512, 1, 4, 7}, {32, 16, 512, 1, 4, 4},  {32, 32, 512, 1, 4, 3}, {32, 64, 256, 1, 4, 5},
    {32, 64, 512, 2, 4, 5}, {32, 96, 256, 3, 2, 8},  {40, 48, 256, 3, 2, 4}, {64, 16, 256, 1, 4, 3},
    {64, 32, 256, 2, 2, 3}, {64, 64, 256, 4, 2, 6},  {64, 32, 256, 1, 4, 4}, {64, 80, 256, 5, 2, 7},
    {64, 96, 256, 3, 2, 8}, {64, 128, 256, 8, 1, 8}};

TEST(CompileBulk, TilesOfWhichAClusterSharesK) {
  std::vector<Source> sources;
  std::size_t number = 0;
  for (const WeightCase& c : kWeightCases) {
    for (const SplitTile& t : kSplitTiles) {
      for (const DType dtype : {DType::kFp16, DType::kBf16}) {
        if (!every_kernel() && number++ % kSplitTurns != 0) continue;
        GemmSpec spec = bulk_spec(c, dtype, 1, 8192);
        spec.shape.m_max = t.tokens;
        spec.shape.m_min = t.tokens - 7;
        spec.path = Path::kHopper;
        spec.tile = tile_of(t.rows, t.columns, t.warps_n, t.warps_k);
        spec.tile.split_k = t.split_k;
        const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
        ASSERT_EQ(plan.kernels.size(), 1U);
        EXPECT_TRUE(is_bulk(plan.kernels[0]));
        sources.push_back(render(plan, 0));
      }
    }
  }
  EXPECT_GE(sources.size(), std::size(kSplitTiles));
  expect_no_spills(sources, target_from_name("h200"));
}

}  // namespace
}  // namespace heddle
