// How many warps the blocks of a stream have, and how many chunks a stage of each.
#include <gtest/gtest.h>

#include "generator/families/gemm_variant.h"
#include "heddle/source.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

// Warps have equal shares in whole stages: as many for each part of an SM if they can, else at
// least seven.
TEST(Resolve, StreamsShareKBetweenWarpsInWholeStages) {
  struct Case {
    std::int64_t chunks;
    int bits, warps, stage_chunks;
  };
  const Case cases[] = {
      {28, 4, 7, 4},
      {30, 4, 10, 3},
      {32, 4, 8, 4},
      {36, 4, 12, 3},
      {40, 4, 10, 4},
      {42, 4, 7, 3},
      {48, 4, 12, 4},
      {54, 4, 9, 3},
      {56, 4, 7, 4},
      {70, 4, 7, 5},
      {120, 4, 8, 3},
      {40, 3, 8, 5},
      {30, 3, 10, 3},
      {40, 2, 8, 5},
      {30, 8, 10, 3},
      {40, 8, 10, 2},
      {40, 6, 10, 4},
      {11, 4, 8, 2},
      {16, 4, 8, 2},
      {18, 4, 9, 2},
      {20, 4, 10, 2},
      // None have: stages of a good length, of which one is short.
      {76, 4, 8, 4},
  };
  for (const Case& c : cases) {
    GemmSpec spec = small_spec();
    spec.shape = {8192, 128 * c.chunks, 1, 2};
    spec.weight.bits = c.bits;
    const GemmVariant v = variant_of(plan_of(spec, "h200").kernels.front());
    EXPECT_EQ(v.kernel, GemmKernel::kStream) << c.chunks;
    EXPECT_EQ(v.warps_k, c.warps) << c.chunks << " chunks of " << c.bits << " bits";
    EXPECT_EQ(v.stage_chunks, c.stage_chunks) << c.chunks << " chunks of " << c.bits << " bits";
    if (c.bits == 4) {
      EXPECT_EQ(v.blocks_per_sm, c.warps > 10 ? 1 : 2) << c.chunks;
    }
  }
}

GemmSpec nvfp4_spec(std::int64_t n) {
  GemmSpec spec = small_spec();
  spec.shape.n = n;
  spec.shape.k = 8192;
  spec.weight.type = WeightType::kE2m1;
  spec.weight.group_size = 16;
  spec.weight.scale_dtype = DType::kE4m3;
  spec.weight.tensor_scale = true;
  return spec;
}

// Where small groups let instructions set the pace, and row blocks enough make up for an SM that no
// other block shares.
TEST(Resolve, StreamsOfSmallScalesTakeSixteenWarps) {
  const GemmVariant many = variant_of(plan_of(nvfp4_spec(28672), "h200").kernels.front());
  EXPECT_EQ(many.warps_k, 16);
  EXPECT_EQ(many.stage_chunks, 4);
  EXPECT_EQ(many.blocks_per_sm, 1);
  const GemmVariant few = variant_of(plan_of(nvfp4_spec(8192), "h200").kernels.front());
  EXPECT_EQ(few.warps_k, 8);
  EXPECT_EQ(few.blocks_per_sm, 2);
  GemmSpec large_groups = nvfp4_spec(28672);
  large_groups.weight.group_size = 128;
  EXPECT_EQ(variant_of(plan_of(large_groups, "h200").kernels.front()).warps_k, 8);
}

// So it is with few tokens times integers of few bits, where each of the warps has little of a row.
TEST(Resolve, StreamsOfFewBitsTakeSixteenWarpsWithFewTokens) {
  const auto warps = [](GemmSpec spec, std::int64_t m) {
    const Plan plan = plan_of(spec, "h200");
    const GemmVariant& v = variant_at(plan, m);
    return v.kernel == GemmKernel::kStream ? v.warps_k : 0;
  };
  GemmSpec spec = small_spec();
  spec.shape = {8192, 8192, 1, 8};
  for (const auto& [bits, wanted] : {std::pair{1, 16}, {2, 16}, {3, 16}, {4, 8}}) {
    spec.weight.bits = bits;
    for (const std::int64_t m : {1, 4}) EXPECT_EQ(warps(spec, m), wanted) << bits << ", M " << m;
    EXPECT_EQ(warps(spec, 8), 0) << "bulk, as before";
  }
  GemmSpec with_zeros = spec;
  with_zeros.weight.zero_point = ZeroPoint::kInt;
  for (const auto& [bits, wanted] : {std::pair{2, 16}, {3, 8}}) {
    with_zeros.weight.bits = bits;
    EXPECT_EQ(warps(with_zeros, 1), wanted) << bits;
  }
  spec.weight.bits = 2;
  GemmSpec other = spec;
  other.weight.group_size = -1;
  EXPECT_EQ(warps(other, 1), 8) << "no groups to scale";
  other = spec;
  other.shape.n = 6144;
  EXPECT_EQ(warps(other, 1), 8) << "three row blocks";
  other = spec;
  other.shape.k = 10240;
  EXPECT_EQ(warps(other, 1), 16);
  other.shape.k = 12288;
  EXPECT_EQ(warps(other, 1), 12) << "long shares";
  // Sums of more row tiles leave bulk few registers.
  other = spec;
  other.shape.n = 28672;
  EXPECT_EQ(warps(other, 8), 16);
  other.weight.bits = 3;
  EXPECT_EQ(warps(other, 8), 0);
  other.weight.bits = 2;
  other.weight.group_size = -1;
  EXPECT_EQ(warps(other, 8), 0);
  other.weight.group_size = 32;
  EXPECT_EQ(warps(other, 8), 0) << "whose bulk has warps for half of the row tiles";
}

// A stage of eight chunks instead of seven, which would leave one of one.
TEST(Resolve, StreamsLengthenAStageThatWouldLeaveAShortOne) {
  GemmSpec spec = small_spec();
  spec.shape = {6144, 8192, 1, 8};
  spec.weight.bits = 2;
  for (const std::int64_t group : {32, 64, 128}) {
    spec.weight.group_size = group;
    const GemmVariant v = variant_of(plan_of(spec, "h200").kernels.front());
    EXPECT_EQ(v.warps_k, 8);
    EXPECT_EQ(v.stage_chunks, 8) << group;
  }
}

}  // namespace
}  // namespace heddle
