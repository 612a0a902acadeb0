// Tiles that bulk copies feed: whom they serve, what their clusters share, and what of a spec's
// tile they refuse.
#include <gtest/gtest.h>

#include "generator/families/scale_mode.h"
#include "generator/families/shared_memory.h"
#include "heddle/inspect/source.h"
#include "tests/gemm_tile.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::TilesConfig;

// The plan's for so many tokens.
TilesConfig tiles_at(const GemmSpec& spec, std::int64_t m) {
  return config_of<TilesConfig>(kernel_at(plan_of(spec, "h200"), m));
}

TEST(Bulk, ServesFewTokensOfSm90) {
  const auto has_bulk = [](GemmSpec spec, const char* target, std::int64_t m) {
    spec.shape.m_min = spec.shape.m_max = m;
    return !candidates_of(spec, target, is_bulk).empty();
  };
  GemmSpec spec = spec_of(8192, 8192);
  for (const std::int64_t m : {1, 16, 64}) EXPECT_TRUE(has_bulk(spec, "h200", m)) << m;
  EXPECT_FALSE(has_bulk(spec, "h200", 65));
  for (const char* target : {"a100", "b200", "rtx5090", "t4"}) {
    EXPECT_FALSE(has_bulk(spec, target, 16)) << target;
  }
  spec.pre_scale = true;
  EXPECT_FALSE(has_bulk(spec, "h200", 16));
  spec.act_order = true;  // the gather applies the factors
  EXPECT_TRUE(has_bulk(spec, "h200", 16));
  spec = spec_of(8192, 8192);
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_FALSE(has_bulk(spec, "h200", 16));
}

// One tile holds all tokens of the range, so that a launch reads the weights once.
TEST(Bulk, ATileHasAllTokens) {
  for (const std::int64_t m : {1, 7, 8, 9, 33, 64}) {
    GemmSpec spec = spec_of(6144, 4096);
    spec.shape.m_min = spec.shape.m_max = m;
    for (const PlannedKernel& kernel : candidates_of(spec, "h200", is_bulk)) {
      const auto& v = config_of<TilesConfig>(kernel);
      EXPECT_GE(v.tile_m, m);
      EXPECT_LT(v.tile_m, m + 8);
      EXPECT_GE(v.stages_ahead, 1);
      EXPECT_LE(v.stages_ahead, v.stages);
      EXPECT_LE(v.split_k, 8) << "a cluster's blocks";
    }
  }
}

TEST(Bulk, HonoursATileOrSaysWhyNot) {
  GemmSpec spec = spec_of(1000, 8192);
  spec.shape.m_max = 64;
  spec.path = Path::kHopper;
  spec.tile.warps_n = 2;
  spec.tile.n = 64;
  spec.tile.split_k = 2;
  const Plan plan = plan_of(spec, "h200");
  for (const PlannedKernel& kernel : plan.kernels) {
    ASSERT_TRUE(is_bulk(kernel));
    const auto& v = config_of<TilesConfig>(kernel);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.split_k, 2);
  }
  spec.tile.n.reset();  // rows for two warps
  EXPECT_EQ(tiles_at(spec, spec.shape.m_min).tile_n % 32, 0);
  spec.tile.n = 64;
  const std::pair<std::optional<int> TileSpec::*, int> wrong[] = {
      {&TileSpec::m, 16},      {&TileSpec::n, 48},      {&TileSpec::k, 192},
      {&TileSpec::stages, 1},  {&TileSpec::stages, 32}, {&TileSpec::warps_m, 2},
      {&TileSpec::split_k, 9}, {&TileSpec::warps_k, 32}};
  for (const auto& [field, value] : wrong) {
    GemmSpec other = spec;
    other.tile.*field = value;
    EXPECT_NE(refusal(other, "h200").find("/tile"), std::string::npos) << value;
  }
  EXPECT_NE(refusal(spec, "b200").find("/tile/warps_n"), std::string::npos);
  GemmSpec many = spec;
  many.shape.m_max = 65;
  EXPECT_NE(refusal(many, "h200").find("/tile/warps_n"), std::string::npos);
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_NE(refusal(spec, "h200").find("float zero points"), std::string::npos);
}

// The sums of a group take as many registers as a row tile's.
TEST(Bulk, OneRowTileForEachWarpOfManyTokensWithScaledSums) {
  GemmSpec spec = spec_of(1000, 8192);
  spec.path = Path::kHopper;
  spec.tile = tile_of(64, 256, 2, 4);
  spec.shape.m_min = 33;
  spec.shape.m_max = 64;
  EXPECT_EQ(tiles_at(spec, 64).scaling.mode, ScaleMode::kWeight);
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_NE(refusal(spec, "h200").find("/tile/warps_n"), std::string::npos);
  spec.tile = tile_of(64, 256, 4, 2);
  EXPECT_EQ(tiles_at(spec, 64).scaling.mode, ScaleMode::kAccumulator);
  spec.tile = tile_of(64, 256, 2, 2);
  EXPECT_EQ(tiles_at(spec, 64).row_tiles(), 2) << "of 160 threads";
}

// Blocks that share K are a cluster, which needs no workspace.
TEST(Bulk, TheBlocksOfAClusterShareK) {
  GemmSpec spec = spec_of(1000, 8192);
  spec.shape.m_min = 9;
  spec.shape.m_max = 32;
  spec.path = Path::kHopper;
  spec.tile = tile_of(64, 512, 1, 4);
  for (const int split : {1, 2, 3, 8}) {
    spec.tile.split_k = split;
    const Plan plan = plan_of(spec, "h200");
    for (const std::int64_t m : {9, 16, 32}) {
      EXPECT_EQ(plan.workspace_bytes(m), 0U);
      const KernelLaunch launch = plan.launch(plan.kernel_for(m), {m});
      EXPECT_EQ(launch.grid_x, static_cast<unsigned>(split));
      EXPECT_EQ(launch.grid_y, 16U) << "of 64 rows";
      EXPECT_EQ(launch.grid_z, 1U);
      EXPECT_EQ(launch.cluster, static_cast<unsigned>(split));
    }
    EXPECT_EQ(plan.max_workspace_bytes(), 0U);
  }
  // Beside the ring, or the warps' sums, the other blocks' sums, and a barrier.
  const auto shared_bytes = [&](int stages, int split) {
    spec.tile.stages = stages;
    spec.tile.split_k = split;
    return tiles_at(spec, 32).shared_bytes();
  };
  EXPECT_EQ(shared_bytes(3, 4), shared_bytes(3, 1) + 4 * 32 * 64 + 8);
  EXPECT_EQ(shared_bytes(2, 2), shared_bytes(2, 1) + 4 * 32 * 64 + 8);
  spec.shape.k = 384;
  spec.tile.split_k = 2;
  EXPECT_NE(refusal(spec, "h200").find("/tile/split_k"), std::string::npos) << "one stage of K";
}

// If two blocks fit an SM, an SM could get two blocks of the next launch while others get none.
TEST(Bulk, ABlockThatHasAnSmToItselfLeavesNoRoomForAnother) {
  const Target target = target_from_name("h200");
  GemmSpec spec = spec_of(1000, 8192);
  spec.path = Path::kHopper;
  spec.shape.m_min = 9;
  spec.shape.m_max = 16;
  spec.tile = tile_of(64, 512, 1, 4);
  spec.tile.stages = 3;
  spec.tile.split_k = 1;
  const auto shared_bytes = [&] { return plan_of(spec, "h200").kernels.back().shared_bytes; };
  EXPECT_GT(2 * (shared_bytes() + kReservedSharedBytes), target.shared_per_sm);
  EXPECT_LT(2 * (tiles_at(spec, 16).shared_bytes() + kReservedSharedBytes), target.shared_per_sm);
  spec.shape.n = 64 * (target.sm_count + 1);
  EXPECT_EQ(shared_bytes(), tiles_at(spec, 16).shared_bytes()) << "more blocks than SMs";
  spec.shape.n = 1000;
  spec.tile.split_k = 2;
  EXPECT_GT(2 * (shared_bytes() + kReservedSharedBytes), target.shared_per_sm) << "of a cluster";
  spec.shape.n = 64 * (target.sm_count / 2 + 1);
  EXPECT_EQ(shared_bytes(), tiles_at(spec, 16).shared_bytes()) << "more blocks of clusters";
}

// A ring of the block's own stages, where a spec does not set them.
TEST(Bulk, BlocksHoldTheirStagesAtMost) {
  GemmSpec spec = spec_of(1280, 4096);
  spec.shape.m_min = 9;
  spec.shape.m_max = 16;
  spec.path = Path::kHopper;
  spec.tile = tile_of(32, 512, 1, 4);
  for (const auto& [split, stages] : {std::pair{1, 8}, {2, 4}, {3, 3}, {4, 2}, {8, 2}}) {
    spec.tile.split_k = split;
    EXPECT_EQ(tiles_at(spec, 16).stages, stages) << split;
  }
}

// Clusters of which two fit on an SM start while the previous kernel still runs.
TEST(Bulk, BlocksOfAClusterThatFitInPairsCopyAllOfTheirRingAhead) {
  GemmSpec spec = spec_of(1280, 8192);
  spec.shape.m_min = 9;
  spec.shape.m_max = 16;
  spec.path = Path::kHopper;
  spec.tile = tile_of(64, 512, 1, 4);
  const auto ahead = [&](int split, int stages) {
    spec.tile.split_k = split;
    spec.tile.stages = stages;
    return tiles_at(spec, 16).stages_ahead;
  };
  EXPECT_EQ(ahead(5, 3), 3);
  EXPECT_EQ(ahead(5, 4), 2) << "more than half of an SM";
  EXPECT_EQ(ahead(8, 3), 2) << "two stages for each block";
  EXPECT_EQ(ahead(1, 3), 2) << "no cluster";
  spec.tile.warps_k = 8;
  EXPECT_EQ(ahead(5, 3), 2) << "no registers for two";
}

}  // namespace
}  // namespace heddle
