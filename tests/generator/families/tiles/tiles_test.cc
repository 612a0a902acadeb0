// Tiles of mma.sync: which of them read ahead, and which share K.
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "generator/operations/kernel_argument.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::TilesConfig;

bool reads_ahead(const PlannedKernel& kernel) { return config_of<TilesConfig>(kernel).reads_ahead; }

bool offers_reading_ahead(const GemmSpec& spec) {
  const std::vector<PlannedKernel> tiles = candidates_of(spec, "h200", is_tiles);
  return std::any_of(tiles.begin(), tiles.end(), reads_ahead);
}

TEST(ReadAhead, NeedsManyTokensAndWeightsThatAreDecodedInSteps) {
  GemmSpec many = older_spec(4096, 4096);
  many.shape.m_min = 33;
  GemmSpec spec = many;
  EXPECT_TRUE(offers_reading_ahead(spec));
  spec.shape = {4096, 4096, 1, 32};  // too few tokens for a warp
  EXPECT_FALSE(offers_reading_ahead(spec));
  spec = many;
  spec.weight.bits = 3;  // a unit of decoding is 64 columns
  EXPECT_FALSE(offers_reading_ahead(spec));
  spec = many;
  spec.weight.scale_dtype = DType::kFp32;  // the scale stays on the sums
  EXPECT_FALSE(offers_reading_ahead(spec));
  spec = many;
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_FALSE(offers_reading_ahead(spec));
  spec = many;
  spec.weight.interleave = Interleave::kTrtllm;
  EXPECT_FALSE(offers_reading_ahead(spec));
  spec = many;
  spec.path = Path::kTuring;
  EXPECT_FALSE(offers_reading_ahead(spec));
}

TEST(ReadAhead, TheUsersTileReadsAheadWhereItCan) {
  GemmSpec spec = older_spec(4096, 4096);
  spec.shape.m_min = 33;
  spec.tile.m = 64;
  spec.tile.n = 256;
  spec.tile.k = 128;
  spec.tile.warps_m = 1;
  spec.tile.warps_n = 8;
  spec.tile.warps_k = 1;
  EXPECT_TRUE(reads_ahead(plan_of(spec, "h200").kernels.back()));
  spec.tile.m = 32;  // too few tokens for a warp
  EXPECT_FALSE(reads_ahead(plan_of(spec, "h200").kernels.back()));
  spec.tile.m = 64;
  spec.tile.n = 128;  // half a row block to a warp and turn
  EXPECT_FALSE(reads_ahead(plan_of(spec, "h200").kernels.back()));
}

// Whose outputs' scales they find have tiles of whole groups, of every kind of weights.
TEST(Tiles, HoldTheOutputsThatShareAScale) {
  for (const char* target : {"sm_75", "a100", "rtx4090", "b200"}) {
    for (const bool gated : {false, true}) {
      for (const int bits : {1, 3, 4, 6}) {
        GemmSpec spec = with_groups(older_spec(1040, 4096), DType::kFp8E4m3);
        if (target_from_name(target).arch() == 75) spec.path = Path::kTuring;
        spec.weight.bits = bits;
        spec.weight.zero_point = ZeroPoint::kInt;
        spec.epilogue.gated = gated;
        const Plan plan = plan_of(spec, target);
        EXPECT_EQ(plan.kernels.back().size_max, kDefaultMaxM);
        for (const PlannedKernel& kernel : plan.kernels) {
          ASSERT_TRUE(is_tiles(kernel)) << kernel.name;
          EXPECT_EQ(config_of<TilesConfig>(kernel).tile_n % (gated ? 256 : 128), 0) << kernel.name;
          EXPECT_TRUE(kernel.takes(KernelArgument::kYScales)) << kernel.name;
        }
      }
    }
  }
}

// On sm_90 wgmma finds them, but for what it does not multiply.
TEST(Tiles, LeaveScalesOfOutputsToWgmma) {
  GemmSpec spec = with_groups(small_spec(), DType::kInt8);
  for (const int rows : {0, 128}) {
    if (rows != 0) spec.tile.n = rows;
    for (const PlannedKernel& kernel : plan_of(spec, "h200").kernels) {
      EXPECT_TRUE(is_wgmma(kernel)) << kernel.name;
    }
  }
  spec.weight.zero_point = ZeroPoint::kFloat;
  for (const PlannedKernel& kernel : plan_of(spec, "h200").kernels) {
    EXPECT_TRUE(is_tiles(kernel)) << kernel.name;
  }
}

// Counters of a split's tiles have an end.
TEST(Tiles, ASplitHasACounterForEachTile) {
  for (const std::int64_t n : {4096, 1 << 20}) {
    for (const std::int64_t m : {16, 64, 4096}) {
      GemmSpec spec = older_spec(n, 4096);
      spec.shape.m_min = spec.shape.m_max = m;
      for (const PlannedKernel& kernel : candidates_of(spec, "h200", is_tiles)) {
        const auto& v = config_of<TilesConfig>(kernel);
        if (v.split_k == 1) continue;
        EXPECT_LE(4 * ceil_div(m, v.tile_m) * ceil_div(n, v.tile_n), kWorkspaceCounterBytes);
      }
    }
  }
}

}  // namespace
}  // namespace heddle
