// Which tiles of mma.sync read ahead, and for whom.
#include <gtest/gtest.h>

#include "generator/families/gemm_variant.h"
#include "generator/planner/same_kernel.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

TEST(WidePlan, ManyTokensReadAhead) {
  const Plan plan = plan_of(older_spec(8192, 8192), "h200");
  EXPECT_FALSE(variant_at(plan, 32).reads_ahead);
  for (const std::int64_t m : {33, 64, 128, 256, 4096}) {
    EXPECT_TRUE(variant_at(plan, m).reads_ahead) << m;
  }
  // The tile grows with the number of tiles; one round of blocks is filled by a split of K.
  EXPECT_EQ(variant_at(plan, 64).tile_n, 128);
  EXPECT_EQ(variant_at(plan, 64).split_k, 2);
  EXPECT_EQ(variant_at(plan, 256).tile_n, 256);
  EXPECT_EQ(variant_at(plan, 4096).tile_m, 128);
  EXPECT_EQ(variant_at(plan, 4096).tile_n, 256);
}

TEST(WidePlan, FitsEveryArchitecture) {
  for (const char* target : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_120", "h200"}) {
    const Plan plan = plan_of(older_spec(4096, 4096), target);
    for (const GemmVariant& v : gemm_variants(plan)) {
      EXPECT_LE(v.shared_bytes, plan.target.shared_per_block) << target << ' ' << v.name;
      EXPECT_EQ(v.reads_ahead, v.m_max > 32) << target << ' ' << v.name;
      if (v.reads_ahead) {
        EXPECT_GE(v.stages, 3) << target;
      }
    }
  }
}

TEST(WidePlan, WhatDoesNotReadAhead) {
  const auto reads_ahead = [](const GemmSpec& spec) {
    return variant_of(plan_of(spec, "h200").kernels.back()).reads_ahead;
  };
  GemmSpec spec = older_spec(4096, 4096);
  ASSERT_TRUE(reads_ahead(spec));
  spec.weight.bits = 3;  // a unit of decoding is 64 columns
  EXPECT_FALSE(reads_ahead(spec));
  spec = older_spec(4096, 4096);
  spec.weight.scale_dtype = DType::kFp32;  // the scale stays on the sums
  EXPECT_FALSE(reads_ahead(spec));
  spec = older_spec(4096, 4096);
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_FALSE(reads_ahead(spec));
  spec = older_spec(4096, 4096);
  spec.weight.interleave = Interleave::kTrtllm;
  EXPECT_FALSE(reads_ahead(spec));
  spec = older_spec(4096, 4096);
  spec.path = Path::kTuring;
  EXPECT_FALSE(reads_ahead(spec));
}

TEST(WidePlan, TheUsersTileReadsAheadWhereItCan) {
  GemmSpec spec = older_spec(4096, 4096);
  spec.shape.m_min = 33;
  spec.tile.m = 64;
  spec.tile.n = 256;
  spec.tile.k = 128;
  spec.tile.warps_m = 1;
  spec.tile.warps_n = 8;
  spec.tile.warps_k = 1;
  EXPECT_TRUE(variant_of(plan_of(spec, "h200").kernels.back()).reads_ahead);
  spec.tile.m = 32;  // too few tokens for a warp
  EXPECT_FALSE(variant_of(plan_of(spec, "h200").kernels.back()).reads_ahead);
  spec.tile.m = 64;
  spec.tile.n = 128;  // half a row block to a warp and turn
  EXPECT_FALSE(variant_of(plan_of(spec, "h200").kernels.back()).reads_ahead);
}

// Counters of a split's tiles have an end, and sums of very many tiles no room.
TEST(WidePlan, ManyTilesAreNotSplit) {
  const Plan plan = plan_of(older_spec(1 << 20, 4096), "h200");
  for (const GemmVariant& v : gemm_variants(plan)) {
    if (v.m_max > 64) {
      EXPECT_EQ(v.split_k, 1) << v.name;
    }
  }
}

TEST(WidePlan, ReadingAheadMakesAnotherKernel) {
  const GemmVariant one = variant_of(plan_of(older_spec(4096, 4096), "h200").kernels.back());
  GemmVariant other = one;
  other.reads_ahead = false;
  EXPECT_FALSE(is_same_kernel(one, other));
}

}  // namespace
}  // namespace heddle
