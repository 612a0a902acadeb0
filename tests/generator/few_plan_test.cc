// Which tiles of mma.sync few tokens take.
#include <gtest/gtest.h>

#include "generator/families/gemm_variant.h"
#include "generator/families/shared_memory.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

// An SM has the same number of row blocks as the others, and room for one block alone.
TEST(FewTokensPlan, OneBlockToAnSm) {
  for (const std::int64_t n : {4096, 6144, 8192, 10240, 14336, 28672}) {
    const Plan plan = plan_of(older_spec(n, 8192), "h200");
    for (const std::int64_t m : {8, 16}) {
      const GemmVariant& v = variant_at(plan, m);
      EXPECT_EQ(v.tile_m, m);
      EXPECT_EQ(v.tile_n, 16 * ceil_div(n / 16, 132)) << n;
      EXPECT_EQ(v.split_k, 1) << n;
      EXPECT_GE(v.stages, 3) << n;
      EXPECT_GT(2 * v.shared_bytes, plan.target.shared_per_sm) << n;
    }
  }
}

// Registers hold no more than so many row blocks, so that there are several rounds.
TEST(FewTokensPlan, ManyRowsTakeRounds) {
  const Plan plan = plan_of(older_spec(132 * 16 * 40, 4096), "h200");
  EXPECT_EQ(variant_at(plan, 8).tile_n, 16 * 20);
  EXPECT_EQ(variant_at(plan, 16).tile_n, 16 * 20);
}

TEST(FewTokensPlan, FitsEveryArchitecture) {
  for (const char* target : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_120", "h200"}) {
    for (const int bits : {1, 3, 4, 8}) {
      GemmSpec spec = older_spec(14336, 4096);
      spec.weight.bits = bits;
      const Plan plan = plan_of(spec, target);
      for (const std::int64_t m : {8, 16}) {
        const GemmVariant& v = variant_at(plan, m);
        EXPECT_LE(v.shared_bytes, plan.target.shared_per_block) << target << ' ' << bits;
        EXPECT_GE(v.stages, 3) << target << ' ' << bits;
      }
    }
  }
}

// A tile of the user's, and the path that copies through registers, have others.
TEST(FewTokensPlan, LeavesOthersAlone) {
  GemmSpec spec = older_spec(4096, 4096);
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 8).stage_k, 1024);
  spec.tile.split_k = 1;
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 8).tile_n, 64);
  spec.tile = {};
  spec.path = Path::kTuring;
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 8).tile_n, 64);
}

}  // namespace
}  // namespace heddle
