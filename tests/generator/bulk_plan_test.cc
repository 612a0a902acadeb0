// Which GEMMs are fed by bulk copies, and with which tiles.
#include <gtest/gtest.h>

#include "generator/planner/gemm_variant.h"
#include "generator/planner/stage.h"
#include "heddle/source.h"
#include "tests/gemm_tile.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

GemmSpec spec_of(std::int64_t n, std::int64_t k) {
  GemmSpec spec = small_spec();
  spec.shape.n = n;
  spec.shape.k = k;
  return spec;
}

// Tiles that the spec asks for.
GemmSpec tiled(std::int64_t n, std::int64_t k, std::int64_t m_min, std::int64_t m_max,
               const TileSpec& tile) {
  GemmSpec spec = spec_of(n, k);
  spec.shape.m_min = m_min;
  spec.shape.m_max = m_max;
  spec.path = Path::kHopper;
  spec.tile = tile;
  return spec;
}

GemmKernel kernel_at(const GemmSpec& spec, std::int64_t m) {
  return variant_at(plan_of(spec, "h200"), m).kernel;
}

TEST(BulkPlan, OneRoundOfBlocks) {
  for (const std::int64_t n : {4096, 6144, 8192, 10240, 20480}) {
    const Plan plan = plan_of(spec_of(n, 8192), "h200");
    const GemmVariant& v = variant_at(plan, 16);
    EXPECT_EQ(v.kernel, GemmKernel::kBulk) << n;
    EXPECT_EQ(v.m_min, 9) << n;
    EXPECT_EQ(v.tile_m, 16) << n;
    EXPECT_EQ(v.tile_n, 16 * ceil_div(n / 16, 132)) << n;
    EXPECT_EQ(v.stage_k / v.warps_k, 128) << n;
    EXPECT_EQ(v.threads(), 32 * 9) << n;
    EXPECT_GE(v.stages, 3) << n;
    EXPECT_LE(v.shared_bytes, plan.target.shared_per_block) << n;
    EXPECT_EQ(plan.workspace_bytes(16), 0U) << n;
  }
}

// Weights ahead of up to eight tokens, and of more in long rows, where the ring holds more and
// decoding is not what they wait for.
TEST(BulkPlan, TwoStagesAheadOfFewTokens) {
  const auto ahead = [](const GemmSpec& spec, std::int64_t m) {
    const GemmVariant v = variant_at(plan_of(spec, "h200"), m);
    EXPECT_EQ(v.kernel, GemmKernel::kBulk);
    return v.stages_ahead;
  };
  EXPECT_EQ(ahead(spec_of(8192, 28672), 4), 2);
  GemmSpec spec = spec_of(8192, 8192);
  EXPECT_EQ(ahead(spec, 8), 2);
  EXPECT_EQ(ahead(spec, 16), 2) << "eight stages of a row";
  EXPECT_EQ(ahead(spec_of(6144, 4096), 16), 1) << "four";
  EXPECT_EQ(ahead(spec_of(25336, 14464), 16), 1) << "twelve warps";
  EXPECT_EQ(ahead(spec_of(21504, 14336), 4), 1) << "two stages";
  spec.weight.bits = 8;
  EXPECT_EQ(ahead(spec, 8), 2);
  spec.weight.bits = 3;
  EXPECT_EQ(ahead(spec, 8), 1);
  spec = spec_of(8192, 8192);
  spec.activation = DType::kBf16;
  spec.weight.type = WeightType::kE2m1;
  spec.weight.scale_dtype = DType::kE8m0;
  spec.weight.group_size = 32;
  EXPECT_EQ(ahead(spec, 8), 1);
}

// Four warpgroups of pairs of blocks are faster where they fill the SMs, but for 8 bits.
TEST(BulkPlan, LeavesSixteenTokensToPairsThatFillTheSms) {
  GemmSpec spec = spec_of(28672, 8192);
  EXPECT_EQ(kernel_at(spec, 8), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec, 16), GemmKernel::kWgmma);
  spec.weight.bits = 8;
  EXPECT_EQ(kernel_at(spec, 16), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(24576, 8192), 16), GemmKernel::kBulk) << "a sixth idle";
}

TEST(BulkPlan, ServesWhereItIsFaster) {
  EXPECT_EQ(kernel_at(spec_of(8192, 8192), 4), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(8192, 8192), 5), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(8192, 8192), 17), GemmKernel::kWgmma);
  // Small kernels overlap with each other as streams.
  EXPECT_EQ(kernel_at(spec_of(4096, 4096), 8), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(4096, 4096), 16), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(4096, 4096), 17), GemmKernel::kWgmma);
  EXPECT_EQ(kernel_at(spec_of(2048, 6144), 4), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(2048, 6144), 5), GemmKernel::kBulk) << "48 chunks";
  // Short rows, of which a warp of a stream has one chunk or two.
  EXPECT_EQ(kernel_at(spec_of(2048, 1408), 16), GemmKernel::kStream) << "11 chunks";
  EXPECT_EQ(kernel_at(spec_of(2048, 1536), 16), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(2048, 1536), 8), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(17920, 1536), 8), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(17920, 1536), 4), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(16384, 2048), 16), GemmKernel::kWgmma) << "a round of its tiles";
  EXPECT_EQ(kernel_at(spec_of(22016, 2048), 8), GemmKernel::kStream) << "two stages";
  // Long rows.
  EXPECT_EQ(kernel_at(spec_of(8192, 28672), 2), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(8192, 28672), 3), GemmKernel::kBulk);
  EXPECT_EQ(variant_at(plan_of(spec_of(8192, 28672), "h200"), 3).m_max, 8);
  EXPECT_EQ(kernel_at(spec_of(4096, 11008), 4), GemmKernel::kStream);
  EXPECT_EQ(kernel_at(spec_of(4096, 11008), 5), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(4096, 13696), 1), GemmKernel::kBulk) << "107 chunks";
  // 148 and 136 chunks: no warps of a stream have equal parts in whole stages.
  EXPECT_EQ(kernel_at(spec_of(3584, 18944), 1), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(4096, 17408), 1), GemmKernel::kBulk);
  // Two row blocks of each SM, the third of 56 of them.
  EXPECT_EQ(kernel_at(spec_of(5120, 25600), 1), GemmKernel::kBulk);
  EXPECT_EQ(kernel_at(spec_of(6144, 25600), 1), GemmKernel::kStream);
  GemmSpec small_scales = spec_of(5120, 25600);
  small_scales.weight.type = WeightType::kE2m1;
  small_scales.weight.scale_dtype = DType::kE8m0;
  small_scales.weight.group_size = 32;
  small_scales.activation = DType::kBf16;
  EXPECT_EQ(kernel_at(small_scales, 1), GemmKernel::kStream);
  // The longest rows in stages that are no whole lines.
  GemmSpec zeros = spec_of(8192, 28672);
  zeros.weight.zero_point = ZeroPoint::kInt;
  EXPECT_EQ(kernel_at(zeros, 1), GemmKernel::kBulk);
  zeros.shape.k = 14336;
  EXPECT_EQ(kernel_at(zeros, 1), GemmKernel::kStream);
  for (const int chunks : {228, 231, 232}) {
    EXPECT_EQ(kernel_at(spec_of(8192, 128 * chunks), 1), GemmKernel::kBulk) << chunks;
  }
  // Runs of 64 columns: integers of few bits are decoded as fast elsewhere.
  EXPECT_EQ(kernel_at(spec_of(14336, 4096), 16), GemmKernel::kWgmma);
  GemmSpec wide = spec_of(14336, 4096);
  wide.weight.bits = 8;
  EXPECT_EQ(kernel_at(wide, 16), GemmKernel::kBulk);
}

// Some SMs have one row block or none, others two or one.
TEST(BulkPlan, ServesUnevenShapesWhereItIsFaster) {
  const auto kernels = [](std::int64_t n, std::int64_t k) {
    std::string text;
    for (const std::int64_t m : {1, 4, 8, 16}) {
      text += kernel_at(spec_of(n, k), m) == GemmKernel::kBulk ? 'b' : '-';
    }
    return text;
  };
  EXPECT_EQ(kernels(896, 4864), "---b");
  EXPECT_EQ(kernels(896, 9216), "---b") << "less than half";
  EXPECT_EQ(kernels(2560, 4096), "---b");
  EXPECT_EQ(kernels(3072, 8192), "---b");
  EXPECT_EQ(kernels(1536, 8960), "--bb");
  EXPECT_EQ(kernels(2304, 9216), "--bb");
  EXPECT_EQ(kernels(2560, 13824), "--bb") << "108 chunks";
  EXPECT_EQ(kernels(2560, 14336), "----") << "112 chunks";
  EXPECT_EQ(kernels(4608, 18432), "bbb-");
  EXPECT_EQ(kernels(3072, 24576), "----") << "two row blocks at most";
}

// Of the next kernel, of 2048 columns, two blocks of up to eight tokens fit on an SM.
TEST(BulkPlan, TheNextKernelStartsWithTokensOfWhichABlockFillsAnSm) {
  for (const auto& [n, text] :
       {std::pair{2048, "/*tokens_alone=*/8,"}, {4096, "/*tokens_alone=*/4,"}}) {
    const Plan plan = plan_of(spec_of(n, 11008), "h200");
    EXPECT_NE(render(plan, plan.kernel_for(8)).text.find(text), std::string::npos) << n;
  }
}

TEST(BulkPlan, LeavesOthersAlone) {
  // More than a round, half of the SMs without rows and rows too long, the shortest rows.
  for (const GemmSpec& spec : {spec_of(57344, 8192), spec_of(2240, 14336), spec_of(4096, 1408)}) {
    for (const std::int64_t m : {8, 16, 32}) EXPECT_NE(kernel_at(spec, m), GemmKernel::kBulk);
  }
  GemmSpec spec = spec_of(8192, 8192);
  for (const char* target : {"a100", "b200", "rtx5090"}) {
    EXPECT_NE(variant_at(plan_of(spec, target), 16).kernel, GemmKernel::kBulk) << target;
  }
  spec.pre_scale = true;
  EXPECT_NE(kernel_at(spec, 16), GemmKernel::kBulk);
  spec.act_order = true;  // the gather applies the factors
  EXPECT_EQ(kernel_at(spec, 16), GemmKernel::kBulk);
  spec = spec_of(8192, 8192);
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_NE(kernel_at(spec, 16), GemmKernel::kBulk);
}

TEST(BulkPlan, HonoursATileOrSaysWhyNot) {
  GemmSpec spec = spec_of(1000, 8192);
  spec.shape.m_max = 64;
  spec.path = Path::kHopper;
  spec.tile.warps_n = 2;
  spec.tile.n = 64;
  spec.tile.split_k = 2;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.kernels.size(), 4U);
  for (const GemmVariant& v : gemm_variants(plan)) {
    EXPECT_EQ(v.kernel, GemmKernel::kBulk);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.split_k, 2);
  }
  spec.tile.n.reset();  // a round of blocks of one row block, for two warps
  EXPECT_EQ(variant_of(plan_of(spec, "h200").kernels[0]).tile_n, 32);
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
TEST(BulkPlan, OneRowTileForEachWarpOfManyTokensWithScaledSums) {
  GemmSpec spec = tiled(1000, 8192, 33, 64, tile_of(64, 256, 2, 4));
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 64).scale_mode, ScaleMode::kWeight);
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_NE(refusal(spec, "h200").find("/tile/warps_n"), std::string::npos);
  spec.tile = tile_of(64, 256, 4, 2);
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 64).scale_mode, ScaleMode::kAccumulator);
  spec.tile = tile_of(64, 256, 2, 2);
  EXPECT_EQ(variant_at(plan_of(spec, "h200"), 64).row_tiles(), 2) << "of 160 threads";
}

// Blocks that share K are a cluster, which needs no workspace.
TEST(BulkPlan, TheBlocksOfAClusterShareK) {
  GemmSpec spec = tiled(1000, 8192, 9, 32, tile_of(64, 512, 1, 4));
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
    return plan_of(spec, "h200").kernels.back().shared_bytes;
  };
  EXPECT_EQ(shared_bytes(3, 4), shared_bytes(3, 1) + 4 * 32 * 64 + 8);
  EXPECT_EQ(shared_bytes(2, 2), shared_bytes(2, 1) + 4 * 32 * 64 + 8);
  spec.shape.k = 384;
  spec.tile.split_k = 2;
  EXPECT_NE(refusal(spec, "h200").find("/tile/split_k"), std::string::npos) << "one stage of K";
}

// A ring of the block's own stages, where a spec does not set them.
TEST(BulkPlan, BlocksOfAClusterHoldTheirStagesAtMost) {
  GemmSpec spec = tiled(1280, 4096, 9, 16, tile_of(32, 512, 1, 4));
  for (const auto& [split, stages] : {std::pair{2, 4}, {3, 3}, {4, 2}, {8, 2}}) {
    spec.tile.split_k = split;
    EXPECT_EQ(variant_at(plan_of(spec, "h200"), 16).stages, stages) << split;
  }
}

// They start while the kernel before still runs where two fit on an SM.
TEST(BulkPlan, BlocksOfAClusterThatFitInPairsCopyAllOfTheirRingAhead) {
  GemmSpec spec = tiled(1280, 8192, 9, 16, tile_of(64, 512, 1, 4));
  const auto ahead = [&](int split, int stages) {
    spec.tile.split_k = split;
    spec.tile.stages = stages;
    return variant_at(plan_of(spec, "h200"), 16).stages_ahead;
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
