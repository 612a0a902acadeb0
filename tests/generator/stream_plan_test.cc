// Which GEMMs stream their weights, and how their blocks share them.
#include <gtest/gtest.h>

#include "generator/families/gemm_variant.h"
#include "generator/families/stream/next_start.h"
#include "heddle/source.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

TEST(Resolve, StreamsServeFewTokensOnHopper) {
  const Plan plan = plan_of(small_spec(), "h200");
  std::int64_t m = 1;
  for (std::size_t i = 0; m <= 8; ++i) {
    const GemmVariant& v = variant_of(plan.kernels.at(i));
    EXPECT_EQ(v.path, Path::kHopper);
    EXPECT_EQ(v.m_min, m);
    EXPECT_EQ(v.workers % v.cluster, 0);
    EXPECT_EQ(v.cluster, 1);
    EXPECT_EQ(v.split_k, 1);
    EXPECT_EQ(v.threads(), 32 * (v.warps_k + 1));
    EXPECT_EQ(plan.workspace_bytes(m), 0U);
    EXPECT_LE(v.shared_bytes * v.blocks_per_sm, plan.target.shared_per_sm);
    m = v.m_max + 1;
  }
  EXPECT_EQ(m, 9);
  // More tokens of few rows: one round of blocks.
  const GemmVariant& sixteen = variant_at(plan, 16);
  EXPECT_EQ(sixteen.kernel, GemmKernel::kBulk);
  EXPECT_EQ(sixteen.tile_n, 32);
  EXPECT_NE(variant_at(plan, 17).kernel, GemmKernel::kStream);
  EXPECT_EQ(variant_of(plan_of(small_spec(), "a100").kernels.front()).path, Path::kAmpere);
  GemmSpec spec = small_spec();
  spec.path = Path::kAmpere;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).path, Path::kAmpere);
  spec.path = Path::kHopper;
  EXPECT_NE(refusal(spec, "a100").find("/path"), std::string::npos);
  spec.shape.m_max = 8;
  spec.tile.split_k = 3;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).split_k, 3);
  spec.tile.warps_k = 31;
  EXPECT_NE(refusal(spec, "h200").find("/tile"), std::string::npos);
  spec = small_spec();
  spec.path = Path::kHopper;
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_NE(refusal(spec, "h200").find("float zero points"), std::string::npos);
}

// Rows of which some SMs have two blocks of 16, most of them one: no round of tiles.
constexpr std::int64_t kUneven = 16 * 140;

// Tokens that do not fit beside the ring are shared out among the blocks of a cluster, with K.
TEST(Resolve, StreamsSplitLongKInClusters) {
  GemmSpec spec = small_spec();
  spec.shape.n = kUneven;
  spec.shape.k = 28672;
  const Plan plan = plan_of(spec, "h200");
  const GemmVariant& one = variant_at(plan, 1);
  EXPECT_EQ(one.split_k, 1);
  const GemmVariant& eight = variant_at(plan, 8);
  EXPECT_EQ(eight.kernel, GemmKernel::kStream);
  EXPECT_EQ(eight.split_k, 4);
  EXPECT_EQ(eight.cluster, 4);
  // More than half of an SM: two blocks of a cluster would share one else.
  EXPECT_GE(2 * eight.shared_bytes, plan.target.shared_per_sm);
  EXPECT_EQ(plan.workspace_bytes(8), 0U);
  // No clusters there.
  EXPECT_EQ(variant_of(plan_of(spec, "rtx5090").kernels.back()).kernel, GemmKernel::kTiles);
  spec.shape.k = 12288;
  spec.pre_scale = true;  // which bulk does not serve
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels[2]).split_k, 2);
}

// wgmma needs no room for all tokens at once; where it does not serve, more blocks share K.
TEST(Resolve, StreamsServeSixteenTokensThatFit) {
  GemmSpec spec = small_spec();
  const auto kernel = [&spec] {
    const Plan plan = plan_of(spec, "h200");
    return variant_at(plan, 16);
  };
  EXPECT_EQ(kernel().kernel, GemmKernel::kBulk);
  spec.shape.k = 2048;
  spec.shape.n = 37888;  // 18 row blocks for each SM: more than a bulk kernel's registers hold
  EXPECT_EQ(kernel().kernel, GemmKernel::kStream);
  EXPECT_EQ(kernel().tile_m, 16);
  EXPECT_EQ(kernel().cluster, 2);  // which reads the tokens together
  spec.shape.k = 4096;
  spec.shape.n = 14336;  // seven row blocks for each SM
  EXPECT_EQ(kernel().kernel, GemmKernel::kWgmma);
  spec.shape.k = 8192;
  spec.shape.n = 57344;  // more than a round of tiles
  EXPECT_EQ(kernel().kernel, GemmKernel::kWgmma);
  spec.shape.n = 8192;
  spec.pre_scale = true;
  EXPECT_EQ(kernel().kernel, GemmKernel::kStream);
  EXPECT_GT(kernel().split_k, 1);
}

// Blocks that fill an SM would leave the first free ones to two blocks each of the next kernel.
TEST(Resolve, TheNextKernelStartsWhereEverySmHasRoomForIt) {
  GemmSpec spec = small_spec();
  const auto lets_next = [&spec](std::int64_t m, int split) {
    const Plan plan = plan_of(spec, "h200");
    const GemmVariant& v = variant_at(plan, m);
    EXPECT_EQ(v.split_k, split) << "M " << m;
    const bool lets = lets_next_start(v, plan.layout, plan.target);
    const std::string text = render(plan, plan.kernel_for(m)).text;
    EXPECT_NE(text.find(lets ? "/*lets_next_start=*/true" : "/*lets_next_start=*/false"),
              std::string::npos);
    return lets;
  };
  spec.shape.n = kUneven;
  for (const std::int64_t k : {4096, 8192}) {
    spec.shape.k = k;
    for (const std::int64_t m : {1, 4}) EXPECT_TRUE(lets_next(m, 1)) << k << ", M " << m;
  }
  // With eight tokens in one block each as well, but those of 2240 columns, which the next kernel
  // has, fit twice on an SM.
  EXPECT_TRUE(lets_next(8, 2));
  spec.shape.k = 4096;
  EXPECT_TRUE(lets_next(8, 1));
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 8).stage_chunks, 2);
  spec.shape.k = 9216;
  spec.pre_scale = true;  // which bulk does not serve
  EXPECT_FALSE(lets_next(8, 1));
  spec.shape.n = 2 * kUneven;  // columns that do not
  EXPECT_TRUE(lets_next(8, 1));
  spec.shape.n = kUneven;
  spec.pre_scale = false;
  // What the user wants stays.
  GemmSpec long_stages = spec;
  long_stages.path = Path::kHopper;
  long_stages.shape = {kUneven, 4096, 5, 8};
  long_stages.tile.k = 4096;
  EXPECT_EQ(variant_of(plan_of(long_stages, "h200").kernels.front()).stage_k, 4096);
  spec.shape.k = 14336;
  EXPECT_TRUE(lets_next(1, 1));
  EXPECT_TRUE(lets_next(4, 2));  // in one block each the tokens would fill an SM
  spec.shape.k = 18944;
  EXPECT_FALSE(lets_next(1, 1));
  EXPECT_FALSE(lets_next(4, 1));
  spec.shape.k = 28672;
  EXPECT_FALSE(lets_next(1, 1));
  EXPECT_FALSE(lets_next(4, 4));  // clusters of four leave some SMs to it
}

// As long as each block has twelve chunks.
TEST(Resolve, StreamsSplitKWhereRowBlocksAreFew) {
  GemmSpec spec = small_spec();
  spec.shape.n = 512;
  for (const auto& [k, split] : {std::pair{2048, 1}, {4096, 2}, {8192, 4}}) {
    spec.shape.k = k;
    for (const std::int64_t m : {1, 3, 5}) {
      const Plan plan = plan_of(spec, "h200");
      const GemmVariant& v = variant_at(plan, m);
      EXPECT_EQ(v.kernel, GemmKernel::kStream);
      EXPECT_EQ(v.split_k, split) << k;
    }
  }
}

// One block for each SM, row blocks or not, and none with room for two others beside it.
TEST(Resolve, EachSmHasOneBlockOfAStream) {
  GemmSpec spec = small_spec();
  for (const auto& [n, k, most] :  // more tokens of two of them are bulk's
       {std::tuple{1536, 1536, 8}, {2048, 8192, 4}, {512, 4096, 8}, {8192, 2304, 4}}) {
    spec.shape = {n, k, 1, most};
    const Plan plan = plan_of(spec, "h200");
    for (std::int64_t m = 1; m <= most; ++m) {
      const GemmVariant& v = variant_at(plan, m);
      ASSERT_EQ(v.kernel, GemmKernel::kStream) << n << ", M " << m;
      EXPECT_EQ(v.workers, plan.target.sm_count) << n;
      EXPECT_GT(3 * (v.shared_bytes + 1024), plan.target.shared_per_sm) << n << ", M " << m;
    }
  }
}

// No more chunks than warps.
TEST(Resolve, TilesServeTheShortestRows) {
  GemmSpec spec = small_spec();
  for (const auto& [k, kernel] : {std::pair{896, GemmKernel::kTiles},
                                  {1024, GemmKernel::kTiles},
                                  {1152, GemmKernel::kStream}}) {
    spec.shape.k = k;
    for (const std::int64_t m : {1, 8}) {
      EXPECT_EQ(variant_at(plan_of(spec, "h200"), m).kernel, kernel) << k;
    }
  }
  spec.shape = {4096, 896, 1, 8};
  spec.path = Path::kHopper;
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels.front()).kernel, GemmKernel::kStream);
}

}  // namespace
}  // namespace heddle
