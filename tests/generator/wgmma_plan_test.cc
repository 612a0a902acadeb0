// Which GEMMs take wgmma, and in which tiles and stages.
#include <gtest/gtest.h>

#include "generator/families/warpgroup/config.h"
#include "generator/families/gemm_variant.h"
#include "generator/families/warpgroup/stage.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

std::vector<GemmKernel> kernels_of(const Plan& plan) {
  std::vector<GemmKernel> kernels;
  for (const GemmVariant& v : gemm_variants(plan)) kernels.push_back(v.kernel);
  return kernels;
}

TEST(Resolve, WgmmaServesManyTokensOnHopper) {
  GemmSpec spec = small_spec();
  Plan plan = plan_of(spec, "h200");
  EXPECT_NE(variant_at(plan, 16).kernel, GemmKernel::kWgmma);
  EXPECT_EQ(variant_at(plan, 33).kernel, GemmKernel::kWgmma);
  EXPECT_EQ(variant_of(plan.kernels.back()).kernel, GemmKernel::kWgmma);
  EXPECT_EQ(variant_of(plan.kernels.back()).path, Path::kHopper);
  EXPECT_EQ(variant_of(plan.kernels.back()).threads(), 384);
  for (const char* other : {"a100", "b200", "rtx5090"}) {
    EXPECT_EQ(variant_of(plan_of(spec, other).kernels.back()).kernel, GemmKernel::kTiles) << other;
  }
  spec.path = Path::kHopper;
  spec.shape.m_min = 33;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).kernel, GemmKernel::kWgmma);
  spec.shape = {8192, 8192, 17, 32};
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).kernel, GemmKernel::kWgmma);
}

// Sixteen tokens at most, and no product for each weight's scale.
TEST(Resolve, TilesOfSixteenTokensAreMultipliedByWarps) {
  GemmSpec spec = small_spec();
  spec.shape.n = 37888;  // more rows than one round of blocks can have, and fewer than two
  spec.shape.k = 8192;
  spec.shape.m_min = 9;
  const Plan plan = plan_of(spec, "h200");
  const GemmVariant& sixteen = variant_at(plan, 16);
  EXPECT_EQ(sixteen.kernel, GemmKernel::kWgmma);
  EXPECT_TRUE(sixteen.by_warps);
  EXPECT_EQ(sixteen.tile_n, 128);
  EXPECT_EQ(sixteen.stage_chunks, 4);
  EXPECT_FALSE(variant_at(plan, 17).by_warps);
  // Three stages of four chunks do not fit.
  spec.weight.bits = 8;
  const Plan wide = plan_of(spec, "h200");
  EXPECT_EQ(variant_of(wide.kernels[wide.kernel_for(16)]).stage_chunks, 2);
  spec.weight.bits = 4;
  spec.weight.group_size = 32;
  const Plan scaled = plan_of(spec, "h200");
  EXPECT_EQ(variant_of(scaled.kernels[scaled.kernel_for(16)]).scale_mode, ScaleMode::kWeight);
  EXPECT_FALSE(variant_of(scaled.kernels[scaled.kernel_for(16)]).by_warps);
}

// A row tile each, in pairs of blocks that have one in common; weights of all stages but one ahead
// of the tokens.
TEST(Resolve, FourWarpgroupsMultiply) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      GemmSpec spec = small_spec(dtype);
      spec.weight.zero_point = zero;
      spec.shape = {28672, 8192, 9, 128};
      const Plan plan = plan_of(spec, "h200");
      for (const std::int64_t m : {16, 32, 64}) {
        const GemmVariant& v = variant_at(plan, m);
        EXPECT_EQ(v.threads(), 640) << m;
        EXPECT_TRUE(v.shares_rows) << m;
        EXPECT_EQ(v.tile_n, 256) << m;
        EXPECT_FALSE(v.by_warps) << m;
        EXPECT_EQ(v.stages_ahead, v.stages - 1) << m;
        EXPECT_LE(v.shared_bytes, plan.target.shared_per_block) << m;
      }
      EXPECT_EQ(variant_at(plan, 65).threads(), 384);
    }
  }
}

// Of two up to 64, in a ring as long as fits, but for blocks of few stages and for two bits.
TEST(Resolve, WeightsOfTwoStagesAreAheadOfTokens) {
  const auto at = [](const GemmSpec& spec, std::int64_t m) {
    const GemmVariant v = variant_at(plan_of(spec, "h200"), m);
    EXPECT_EQ(v.kernel, GemmKernel::kWgmma);
    return v;
  };
  constexpr int kShortRing = 160 << 10;
  GemmSpec spec = small_spec();
  spec.shape = {8192, 8192, 17, 256};
  EXPECT_EQ(at(spec, 32).stages_ahead, 2);
  EXPECT_GT(at(spec, 32).shared_bytes, 200 << 10);
  EXPECT_EQ(at(spec, 64).stages_ahead, 2);
  EXPECT_EQ(at(spec, 65).stages_ahead, 1);
  EXPECT_EQ(at(spec, 256).stages_ahead, 1);
  spec.weight.bits = 3;
  EXPECT_EQ(at(spec, 32).stages_ahead, 2);
  spec.weight.bits = 2;
  EXPECT_EQ(at(spec, 32).stages_ahead, 1);
  EXPECT_LT(at(spec, 32).shared_bytes, kShortRing);
  EXPECT_EQ(at(spec, 64).stages_ahead, 1);
  spec.shape = {14336, 4096, 17, 32};
  spec.weight.group_size = 32;
  EXPECT_GE(at(spec, 32).stages, 3) << "shorter ones, not fewer";
  spec = small_spec();
  spec.shape = {4096, 4096, 17, 64};
  EXPECT_TRUE(at(spec, 32).shares_in_pairs);
  EXPECT_EQ(at(spec, 32).stages_ahead, 1) << "four stages for a block";
  EXPECT_LT(at(spec, 32).shared_bytes, kShortRing);
  EXPECT_EQ(at(spec, 64).stages_ahead, 2) << "eight";
  spec.path = Path::kHopper;
  spec.tile.stages = 5;
  EXPECT_EQ(at(spec, 32).stages, 5) << "the user's";
}

TEST(Resolve, TwoWarpgroupsMultiplyWhereRegistersHoldNoMore) {
  GemmSpec spec = small_spec();
  spec.path = Path::kHopper;
  spec.tile.n = 256;
  const auto threads = [&spec](std::int64_t m) {
    spec.shape = {28672, 8192, m / 2 + 1, m};
    return variant_of(plan_of(spec, "h200").kernels.front()).threads();
  };
  EXPECT_EQ(threads(16), 640);
  EXPECT_EQ(threads(32), 640);
  EXPECT_EQ(threads(64), 384) << "sums of a group beside those of the tile";
  spec.weight.group_size = 32;  // scales meet the weights
  EXPECT_EQ(threads(64), 640);
  EXPECT_EQ(threads(128), 384);
  // Of pairs with rows in common a code of a table leaves no room.
  spec = small_spec();
  spec.shape = {28672, 8192, 33, 64};
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).threads(), 640);
  spec.weight.type = WeightType::kNf4;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).threads(), 384);
}

// Tensor copies bring tokens as they are, and nothing sums them.
TEST(Resolve, WgmmaLeavesFactorsOfColumnsAndFloatZeroPointsToTiles) {
  GemmSpec spec = small_spec();
  spec.shape.m_min = 33;
  spec.pre_scale = true;
  EXPECT_EQ(kernels_of(plan_of(spec, "h200")).back(), GemmKernel::kTiles);
  spec.act_order = true;  // the gather applies them
  EXPECT_EQ(kernels_of(plan_of(spec, "h200")).back(), GemmKernel::kWgmma);
  spec = small_spec();
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_EQ(kernels_of(plan_of(spec, "h200")).back(), GemmKernel::kTiles);
}

TEST(Resolve, WgmmaHonoursATileOrSaysWhyNot) {
  GemmSpec spec = small_spec();
  spec.shape.m_min = 9;
  spec.tile.m = 64;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.back()).kernel, GemmKernel::kTiles);
  spec.path = Path::kHopper;
  spec.tile.n = 128;
  spec.tile.stages = 3;
  spec.tile.split_k = 1;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.kernels.size(), 1U);
  EXPECT_EQ(variant_of(plan.kernels[0]).tile_m, 64);
  EXPECT_EQ(variant_of(plan.kernels[0]).tile_n, 128);
  EXPECT_EQ(variant_of(plan.kernels[0]).stages, 3);
  EXPECT_EQ(plan.workspace_bytes(600), 0U);
  const std::pair<std::optional<int> TileSpec::*, int> wrong[] = {
      {&TileSpec::m, 48},      {&TileSpec::n, 192},     {&TileSpec::k, 192},
      {&TileSpec::k, 64},      {&TileSpec::stages, 1},  {&TileSpec::stages, 12},
      {&TileSpec::split_k, 2}, {&TileSpec::warps_m, 2}, {&TileSpec::warps_n, 4},
      {&TileSpec::warps_k, 2}};
  for (const auto& [field, value] : wrong) {
    GemmSpec other = spec;
    other.tile.*field = value;
    EXPECT_NE(refusal(other, "h200").find("/tile"), std::string::npos) << value;
  }
  // 256 rows by 256 tokens: too many sums.
  spec.tile.m = spec.tile.n = 256;
  EXPECT_NE(refusal(spec, "h200").find("registers"), std::string::npos);
}

// Two whole ones of 256 tokens would fit.
TEST(Resolve, WgmmaHalvesStagesThatLeaveNoRoomForThree) {
  GemmSpec spec = small_spec();
  spec.shape = {8192, 8192, 513, 8192};
  const auto stage = [&spec] {
    const GemmVariant v = variant_of(plan_of(spec, "h200").kernels.front());
    EXPECT_EQ(v.tile_m, 256);
    return std::pair(v.stage_k, v.stages);
  };
  EXPECT_EQ(stage(), std::pair(128, 3));
  spec.weight.bits = 8;
  EXPECT_EQ(stage(), std::pair(64, 5));
  // Words of a half lie apart there.
  spec.weight.interleave = Interleave::kTrtllm;
  const GemmVariant lines = variant_of(plan_of(spec, "h200").kernels.front());
  EXPECT_EQ(lines.tile_m, 128);
  EXPECT_EQ(lines.stage_k, 128);
  EXPECT_GE(lines.stages, 3);
  // The sums of a group cannot wait for the other half.
  spec.weight.interleave = Interleave::kFragment;
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).stage_k, 128);
  spec.path = Path::kHopper;
  spec.tile.n = 128;
  spec.tile.k = 64;
  EXPECT_NE(refusal(spec, "h200").find("/tile/k"), std::string::npos);
  spec.weight.scale_dtype = DType::kFp16;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).stage_k, 64);
  spec.tile.n = 256;
  EXPECT_NE(refusal(spec, "h200").find("/tile/k"), std::string::npos);
  spec.tile.n = 128;
  spec.tile.m = 96;
  EXPECT_NE(refusal(spec, "h200").find("/tile/k"), std::string::npos);
}

// 28672 rows are 3.4 tiles of 64 for each of 132 SMs, 12288 rows 1.5.
TEST(Resolve, WgmmaGivesPairsAnOddNumberOfRowTiles) {
  const auto rows = [](std::int64_t n, std::int64_t k, std::int64_t m) {
    GemmSpec spec = small_spec();
    spec.shape = {n, k, m / 2 + 1, m};
    const Plan plan = plan_of(spec, "h200");
    const GemmVariant v = variant_of(plan.kernels.front());
    EXPECT_FALSE(v.shares_rows && v.shares_tiles);
    return v.shares_rows ? warpgroup_sizes(plan.layout, v).set_row_tiles() * 64 : 0;
  };
  for (const std::int64_t m : {32, 64}) {
    EXPECT_EQ(rows(28672, 8192, m), 448);
    EXPECT_EQ(rows(12288, 4096, m), 192);
    EXPECT_EQ(rows(8192, 8192, m), 0);
    EXPECT_EQ(rows(14336, 4096, m), 0);
  }
  EXPECT_EQ(rows(28672, 8192, 128), 0);
  // Who wants each tile for one block has it.
  GemmSpec spec = small_spec();
  spec.shape = {28672, 8192, 33, 64};
  spec.path = Path::kHopper;
  spec.tile.split_k = 1;
  EXPECT_FALSE(variant_of(plan_of(spec, "h200").kernels.front()).shares_rows);
}

// Two sets of sums take turns with 64 tokens, by 128 rows and more, in stages of whole pairs of
// chunks.
TEST(Resolve, WgmmaScalesTheSumsOfSixtyFourTokens) {
  const auto mode = [](std::int64_t k, int bits, std::int64_t m) {
    GemmSpec spec = small_spec();
    spec.shape.n = 8192;
    spec.shape.k = k;
    spec.weight.bits = bits;
    return variant_at(plan_of(spec, "h200"), m).scale_mode;
  };
  EXPECT_EQ(mode(8192, 4, 64), ScaleMode::kAccumulator);
  EXPECT_EQ(mode(8192 + 128, 4, 64), ScaleMode::kWeight);
  EXPECT_EQ(mode(8192, 8, 64), ScaleMode::kWeight);
  EXPECT_EQ(mode(8192, 4, 96), ScaleMode::kWeight);
  GemmSpec small = small_spec();
  EXPECT_EQ(variant_at(plan_of(small, "h200"), 64).tile_n, 64);
  EXPECT_EQ(variant_at(plan_of(small, "h200"), 64).scale_mode, ScaleMode::kWeight);
}

// Weights come beside the tokens of such a tile, so that eight bits take no longer than four.
TEST(Resolve, WgmmaTakesSquareTilesOfWideWeights) {
  for (const int bits : {4, 6, 8}) {
    GemmSpec spec = small_spec();
    spec.shape.n = 8192;
    spec.shape.k = 8192;
    spec.weight.bits = bits;
    const Plan plan = plan_of(spec, "h200");
    EXPECT_EQ(variant_at(plan, 256).tile_m, 128) << bits;
    EXPECT_EQ(variant_at(plan, 256).tile_n, 128) << bits;
  }
}

}  // namespace
}  // namespace heddle
