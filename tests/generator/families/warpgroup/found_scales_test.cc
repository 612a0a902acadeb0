// Tiles of wgmma whose outputs of eight bits find the scales of 128 of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/warpgroup/cost.h"
#include "tests/byte_gemm.h"
#include "tests/generator/families/warpgroup/wgmma_tiles.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

GemmSpec groups_of(GemmSpec spec) {
  spec.shape.m_min = 1;
  spec.shape.m_max = 4096;
  return with_groups(std::move(spec), DType::kFp8E4m3);
}

std::vector<WarpgroupKernel> tiles_of_size(const GemmSpec& spec, int tokens, int rows) {
  GemmSpec one = spec;
  one.tile.m = tokens;
  one.tile.n = rows;
  const std::vector<WarpgroupKernel> tiles = wgmma_tiles(one, "h100");
  EXPECT_FALSE(tiles.empty());
  return tiles;
}

double us_of(const GemmSpec& spec, int tokens, int rows, std::int64_t m) {
  GemmSpec one = spec;
  one.tile.m = tokens;
  one.tile.n = rows;
  one.tile.split_k = 1;
  const Plan plan = plan_of(one, "h100");
  static const std::vector<double> costs = values_of(warpgroup_cost_parameters());
  return gemm_family_of(plan.kernels.back())
      .predicted_us(plan, plan.kernels.back(), LaunchSize{m}, costs);
}

// Four lanes then have a token's 128 outputs, and warpgroups need not finish a tile together.
TEST(WgmmaFoundScales, TokensOfBlocksAreRows) {
  const GemmSpec spec = groups_of(block_gemm(4096, 4096));
  GemmSpec gated = spec;
  gated.epilogue = {false, Activation::kSilu, false, true};
  const auto all_are_rows = [](const std::vector<WarpgroupKernel>& tiles) {
    return std::all_of(tiles.begin(), tiles.end(), [](const WarpgroupKernel& c) {
      return c.has_token_rows() && c.has_own_groups() && c.magnitude_bytes() == 0;
    });
  };
  EXPECT_TRUE(all_are_rows(tiles_of_size(spec, 256, 128)));
  EXPECT_TRUE(all_are_rows(tiles_of_size(spec, 128, 256)));
  EXPECT_TRUE(all_are_rows(tiles_of_size(gated, 128, 256)));
  EXPECT_FALSE(all_are_rows(tiles_of_size(spec, 192, 128)));
  EXPECT_TRUE(tiles_of_size(spec, 256, 128).front().shares_tiles()) << "the K of the last ones";
}

// What a lane does not have - a bias, a residual, an activation of its own - is added behind shared
// memory.
TEST(WgmmaFoundScales, SumsAloneBecomeOutputsInRegisters) {
  const GemmSpec spec = groups_of(byte_gemm(4096, 4096, DType::kInt8));
  const auto finds = [](GemmSpec one, const EpilogueSpec& epilogue, int tokens) {
    one.epilogue = epilogue;
    return tiles_of_size(one, tokens, 256).front().finds_in_registers();
  };
  EXPECT_TRUE(finds(spec, {}, 64));
  EXPECT_TRUE(finds(spec, {false, Activation::kSilu, false, true}, 64));
  EXPECT_FALSE(finds(spec, {}, 16));
  EXPECT_FALSE(finds(spec, {true, Activation::kNone, false}, 64));
  EXPECT_FALSE(finds(spec, {false, Activation::kNone, true}, 64));
  EXPECT_FALSE(finds(spec, {false, Activation::kGelu, false}, 64));
}

// INT8, whose sums become FP32 group by group.
TEST(WgmmaFoundScales, LeaveRegistersForTwoChunksOfAStage) {
  GemmSpec spec = with_groups(four_bit_gemm(4096, 4096, DType::kInt8), DType::kInt8);
  spec.shape.m_min = 17;
  spec.shape.m_max = 64;
  spec.tile.m = 64;
  spec.tile.n = 128;
  spec.tile.k = 512;
  EXPECT_NE(refusal(spec, "h100").find("/tile/k"), std::string::npos);
  spec.tile.k = 256;
  EXPECT_NO_THROW(plan_of(spec, "h100"));
}

TEST(WgmmaFoundScales, TakeLongerThanSixteenBits) {
  const GemmSpec spec = groups_of(byte_gemm(8192, 8192, DType::kFp8E4m3));
  GemmSpec halves = spec;
  halves.output = DType::kBf16;
  halves.output_scale = {};
  GemmSpec around = spec;
  around.epilogue = {true, Activation::kNone, true};
  const double of_halves = us_of(halves, 256, 128, 4096);
  const double in_registers = us_of(spec, 256, 128, 4096);
  EXPECT_GT(in_registers, of_halves);
  EXPECT_GT(us_of(around, 256, 128, 4096), in_registers);
}

}  // namespace
}  // namespace heddle
