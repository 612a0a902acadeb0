#include "generator/planner/same_kernel.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(SameKernel, ANameAndARangeMakeNoOtherKernel) {
  const GemmVariant one;
  GemmVariant other;
  other.name = "of another name";
  other.m_min = 2;
  other.m_max = 7;
  EXPECT_TRUE(is_same_kernel(one, other));
}

TEST(SameKernel, AnyOtherFieldMakesAnotherKernel) {
  const GemmVariant one;
  for (int GemmVariant::*field :
       {&GemmVariant::tile_m, &GemmVariant::tile_n, &GemmVariant::stage_k, &GemmVariant::stages,
        &GemmVariant::stages_ahead, &GemmVariant::split_k, &GemmVariant::warps_m,
        &GemmVariant::warps_n, &GemmVariant::warps_k, &GemmVariant::workers,
        &GemmVariant::stage_chunks, &GemmVariant::cluster, &GemmVariant::step_tiles,
        &GemmVariant::decoded_sets, &GemmVariant::shared_bytes, &GemmVariant::blocks_per_sm}) {
    GemmVariant other;
    ++(other.*field);
    EXPECT_FALSE(is_same_kernel(one, other));
  }
  for (bool GemmVariant::*field :
       {&GemmVariant::reads_ahead, &GemmVariant::shares_tiles, &GemmVariant::shares_in_pairs,
        &GemmVariant::fold_power, &GemmVariant::fold_scale}) {
    GemmVariant other;
    other.*field = !(other.*field);
    EXPECT_FALSE(is_same_kernel(one, other));
  }
  GemmVariant other;
  other.kernel = GemmKernel::kBulk;
  EXPECT_FALSE(is_same_kernel(one, other));
  other = {};
  other.path = Path::kHopper;
  EXPECT_FALSE(is_same_kernel(one, other));
  other = {};
  other.scale_mode = ScaleMode::kChannel;
  EXPECT_FALSE(is_same_kernel(one, other));
}

}  // namespace
}  // namespace heddle
