// Tiles of wgmma: whom they serve, what registers and shared memory allow, and what of a spec's
// tile they refuse.
#include "generator/families/warpgroup/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/scale_mode.h"
#include "tests/byte_gemm.h"
#include "tests/generator/families/warpgroup/wgmma_tiles.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

GemmSpec spec_with_range(std::int64_t n, std::int64_t k, std::int64_t m_min, std::int64_t m_max) {
  GemmSpec spec = spec_of(n, k);
  spec.shape.m_min = m_min;
  spec.shape.m_max = m_max;
  return spec;
}

// The kernel of the path hopper, which has no other one for these tokens unless a tile asks for it.
PlannedKernel own_kernel_of(GemmSpec spec) {
  spec.path = Path::kHopper;
  return plan_of(spec, "h200").kernels.front();
}
WarpgroupKernel own_of(const GemmSpec& spec) {
  const PlannedKernel kernel = own_kernel_of(spec);
  EXPECT_TRUE(is_wgmma(kernel));
  return config_of<WarpgroupKernel>(kernel);
}

TEST(Wgmma, ServesSm90FromNineTokensOn) {
  EXPECT_TRUE(wgmma_tiles(spec_with_range(4096, 4096, 1, 8)).empty());
  for (const std::int64_t m : {9, 64, 65536}) {
    const GemmSpec spec = spec_with_range(4096, 4096, 9, m);
    EXPECT_FALSE(wgmma_tiles(spec).empty()) << m;
    for (const char* other : {"a100", "b200", "rtx5090"}) {
      EXPECT_TRUE(wgmma_tiles(spec, other).empty()) << other;
    }
  }
  EXPECT_EQ(path_of(own_kernel_of(spec_with_range(4096, 4096, 33, 64))), Path::kHopper);
}

// Tensor copies bring tokens as they are, and nothing sums them.
TEST(Wgmma, LeavesFactorsOfColumnsAndFloatZeroPointsToTiles) {
  GemmSpec spec = spec_with_range(4096, 4096, 33, 64);
  spec.pre_scale = true;
  EXPECT_TRUE(wgmma_tiles(spec).empty());
  spec.act_order = true;  // the gather applies them
  EXPECT_FALSE(wgmma_tiles(spec).empty());
  spec = spec_with_range(4096, 4096, 33, 64);
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_TRUE(wgmma_tiles(spec).empty());
}

// Two or four that multiply, and one that fetches.
TEST(Wgmma, WarpgroupsHaveRegistersForTheirSums) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    for (const std::int64_t m : {16, 32, 64, 128, 8192}) {
      for (const int group : {32, 128}) {
        GemmSpec spec = small_spec(dtype);
        spec.shape = {28672, 8192, 9, m};
        spec.weight.group_size = group;
        for (const WarpgroupKernel& v : wgmma_tiles(spec)) {
          const int warpgroups = v.warpgroups;
          EXPECT_TRUE(warpgroups == 2 || warpgroups == 4);
          EXPECT_EQ(v.threads(), 128 * (warpgroups + 1));
          EXPECT_LE(v.tile_m, warpgroups == 4 ? 64 : 256);
          EXPECT_TRUE(v.tile_n >= 128 || v.tile_m >= 32);
        }
      }
    }
  }
}

TEST(Wgmma, TwoWarpgroupsMultiplyWhereRegistersHoldNoMore) {
  const auto most_threads = [](GemmSpec spec) {
    spec.path = Path::kHopper;
    spec.tile.n = 256;
    int most = 0;
    for (const WarpgroupKernel& v : wgmma_tiles(spec)) most = std::max(most, v.threads());
    return most;
  };
  GemmSpec spec = spec_with_range(28672, 8192, 9, 16);
  EXPECT_EQ(most_threads(spec), 640);
  spec.shape.m_max = 64;
  EXPECT_EQ(most_threads(spec), 384) << "sums of a group beside those of the tile";
  spec.weight.group_size = 32;  // scales meet the weights
  EXPECT_EQ(most_threads(spec), 640);
  spec.shape.m_max = 128;
  EXPECT_EQ(most_threads(spec), 384);
}

TEST(Wgmma, WeightsAreAheadOfFewTokensByNoMoreThanTheRing) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const std::int64_t m : {16, 32, 64, 65, 256}) {
      GemmSpec spec = spec_with_range(8192, 8192, 9, m);
      spec.weight.bits = bits;
      for (const WarpgroupKernel& v : wgmma_tiles(spec)) {
        EXPECT_GE(v.stages, 2);
        EXPECT_GE(v.stages_ahead, 1);
        EXPECT_LE(v.stages_ahead, v.stages);
        if (v.tile_m > 64) {
          EXPECT_EQ(v.stages_ahead, 1);
        }
        if (bits == 2 && !v.has_four()) {
          EXPECT_EQ(v.stages_ahead, 1) << "decoded no faster than they come";
        }
      }
    }
  }
}

TEST(Wgmma, HonoursATileOrSaysWhyNot) {
  GemmSpec spec = spec_with_range(4096, 4096, 9, kDefaultMaxM);
  spec.tile.m = 64;
  EXPECT_TRUE(is_tiles(plan_of(spec, "h200").kernels.back()))
      << "a tile is one of mma.sync unless the path says otherwise";
  spec.path = Path::kHopper;
  spec.tile.n = 128;
  spec.tile.stages = 3;
  spec.tile.split_k = 1;
  const Plan plan = plan_of(spec, "h200");
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto& v = config_of<WarpgroupKernel>(kernel);
    EXPECT_EQ(v.tile_m, 64);
    EXPECT_EQ(v.tile_n, 128);
    EXPECT_EQ(v.stages, 3);
    EXPECT_FALSE(v.shares_tiles()) << "each tile for one block";
  }
  EXPECT_EQ(plan.max_workspace_bytes(), 0U);
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
  spec.tile.m = 16;  // tiles of 64 rows have 32 tokens and more
  spec.tile.n = 64;
  EXPECT_NE(refusal(spec, "h200").find("/tile/n"), std::string::npos);
}

// The field that is the least to change, and what fits the registers there.
TEST(Wgmma, NamesTheFieldThatTakesTooManyRegisters) {
  const auto refused = [](GemmSpec spec, int tokens, int rows, int columns) {
    spec.shape.m_min = 200;
    spec.shape.m_max = 300;
    spec.path = Path::kHopper;
    spec.tile.m = tokens;
    spec.tile.n = rows;
    spec.tile.k = columns;
    return refusal(spec, "h200");
  };
  const GemmSpec halves = spec_with_range(8192, 8192, 200, 300);
  const GemmSpec int8 = four_bit_gemm(8192, 8192, DType::kInt8);
  const GemmSpec fp8 = four_bit_gemm(8192, 8192, DType::kFp8E4m3);
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  EXPECT_TRUE(ends_with(refused(halves, 256, 256, 128), ", got 256; allowed: 128"));
  EXPECT_NE(refused(halves, 256, 256, 128).find("/tile/n: a tile of 256 rows by 256 tokens"),
            std::string::npos);
  EXPECT_TRUE(ends_with(refused(int8, 96, 256, 128), ", got 256; allowed: 64, 128"));
  EXPECT_TRUE(ends_with(refused(fp8, 128, 256, 256), ", got 256; allowed: 128"));
  EXPECT_NE(refused(fp8, 128, 256, 256).find("/tile/k: "), std::string::npos);
  EXPECT_NE(refused(int8, 256, 128, 128).find("/tile/m: "), std::string::npos);
}

// A stage of half a chunk of each row block.
TEST(Wgmma, HalvesStagesOrSaysWhyNot) {
  GemmSpec spec = spec_with_range(8192, 8192, 513, 8192);
  spec.path = Path::kHopper;
  spec.tile.n = 128;
  spec.tile.k = 64;
  EXPECT_TRUE(own_of(spec).half_stages);
  GemmSpec other = spec;
  other.weight.scale_dtype = DType::kFp32;  // the sums of a group cannot wait for the other half
  EXPECT_NE(refusal(other, "h200").find("/tile/k"), std::string::npos);
  other = spec;
  other.weight.interleave = Interleave::kTrtllm;  // words of a half lie apart there
  EXPECT_NE(refusal(other, "h200").find("/tile/k"), std::string::npos);
  other = spec;
  other.tile.n = 256;
  EXPECT_NE(refusal(other, "h200").find("/tile/k"), std::string::npos);
  other = spec;
  other.tile.m = 96;
  EXPECT_NE(refusal(other, "h200").find("/tile/k"), std::string::npos);
}

// Two sets of sums take turns with 64 tokens, by 128 rows and more, in stages of whole pairs of
// chunks; eight bits are decoded no faster so.
TEST(Wgmma, ScalesTheSumsOfSixtyFourTokensWhereTheyTakeTurns) {
  const auto mode = [](std::int64_t k, int bits, int tile_m, int tile_n) {
    GemmSpec spec = spec_with_range(8192, k, 9, 96);
    spec.weight.bits = bits;
    spec.tile.m = tile_m;
    spec.tile.n = tile_n;
    spec.tile.split_k = 1;
    return own_of(spec).scaling.mode;
  };
  EXPECT_EQ(mode(8192, 4, 64, 128), ScaleMode::kAccumulator);
  EXPECT_EQ(mode(8192 + 128, 4, 64, 128), ScaleMode::kWeight);
  EXPECT_EQ(mode(8192, 8, 64, 128), ScaleMode::kWeight);
  EXPECT_EQ(mode(8192, 4, 96, 128), ScaleMode::kWeight);
  EXPECT_EQ(mode(8192, 4, 64, 64), ScaleMode::kWeight);
}

}  // namespace
}  // namespace heddle
