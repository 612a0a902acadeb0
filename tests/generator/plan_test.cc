#include "heddle/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/plan/stage.h"
#include "generator/plan/wgmma.h"
#include "heddle/error.h"

namespace heddle {
namespace {

GemmSpec small_spec(DType dtype = DType::kFp16) {
  GemmSpec spec;
  spec.shape.n = 4096;
  spec.shape.k = 4096;
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  return spec;
}

Plan plan_of(const GemmSpec& spec, const char* target) {
  return resolve(Spec::from_gemm(spec), target_from_name(target));
}

std::string refusal(const GemmSpec& spec, const char* target) {
  try {
    plan_of(spec, target);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    return error.what();
  }
  return "accepted";
}

TEST(Resolve, VariantsCoverTheWholeRangeOnce) {
  for (const Target& target : known_targets()) {
    const Plan plan = resolve(Spec::from_gemm(small_spec()), target);
    std::int64_t next = 1;
    for (const GemmVariant& v : plan.variants) {
      EXPECT_EQ(v.m_min, next) << target.name;
      next = v.m_max + 1;
    }
    EXPECT_EQ(next, kDefaultMaxM + 1) << target.name;
  }
}

TEST(Resolve, EveryTargetGetsTilesThatFitItsSharedMemory) {
  for (const Target& target : known_targets()) {
    for (const int group : {kPerChannel, 32, 64, 128, 256}) {
      GemmSpec spec = small_spec();
      spec.weight.group_size = group;
      spec.weight.zero_point = ZeroPoint::kInt;
      for (const GemmVariant& v : resolve(Spec::from_gemm(spec), target).variants) {
        EXPECT_LE(v.shared_bytes, target.shared_per_block) << target.name;
        EXPECT_LE(v.blocks_per_sm * (v.shared_bytes + 1024), target.shared_per_sm) << target.name;
        EXPECT_GE(v.stages, 2);
      }
    }
  }
}

TEST(Resolve, MRangeIsClippedToTheSpec) {
  GemmSpec spec = small_spec();
  spec.shape.m_min = 5;
  spec.shape.m_max = 20;
  const Plan plan = plan_of(spec, "h200");
  EXPECT_EQ(plan.variants.front().m_min, 5);
  EXPECT_EQ(plan.variants.back().m_max, 20);
  EXPECT_EQ(plan.variant_for(8), 0u);
  EXPECT_EQ(plan.variant_for(9), 1u);
  EXPECT_EQ(plan.variant_for(20), 2u);
}

TEST(Resolve, IsPure) {
  EXPECT_EQ(plan_to_json(plan_of(small_spec(), "h200")),
            plan_to_json(plan_of(small_spec(), "h200")));
}

TEST(Resolve, TuringHasItsOwnPathAndNoBfloat16) {
  EXPECT_EQ(plan_of(small_spec(), "sm_75").variants[0].path, Path::kTuring);
  EXPECT_EQ(plan_of(small_spec(), "sm_80").variants[0].path, Path::kAmpere);
  EXPECT_NE(refusal(small_spec(DType::kBf16), "sm_75").find("bfloat16"), std::string::npos);
  GemmSpec forced = small_spec();
  forced.path = Path::kAmpere;
  EXPECT_NE(refusal(forced, "sm_75").find("cp.async"), std::string::npos);
  forced.path = Path::kTuring;
  EXPECT_EQ(plan_of(forced, "h200").variants[0].path, Path::kTuring);
}

TEST(Resolve, RefusesWithEveryReason) {
  GemmSpec spec = small_spec();
  spec.shape.n = 4100;
  spec.shape.k = 4104;
  const std::string text = refusal(spec, "h200");
  EXPECT_NE(text.find("/shape/n"), std::string::npos);
  EXPECT_NE(text.find("/shape/k"), std::string::npos);
  EXPECT_NE(text.find("/weight/group_size"), std::string::npos);
}

// Codes that e4m3 scales and a tensor scale fit are scaled exactly; FP32 scales meet the sums.
TEST(Resolve, ScalesWhereNothingIsRoundedTwice) {
  GemmSpec spec = small_spec();
  spec.weight = {4, WeightType::kE2m1, 16, ZeroPoint::kNone, DType::kE4m3, true};
  for (const GemmVariant& v : plan_of(spec, "h200").variants) {
    EXPECT_FALSE(v.fold_power && v.scale_mode == ScaleMode::kWeight);
  }
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kWeight);
  spec.weight.scale_dtype = DType::kE8m0;
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kAccumulator);
  EXPECT_TRUE(plan_of(spec, "h200").variants.back().fold_power);
  spec.activation = DType::kBf16;
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kWeight);
  spec = small_spec();
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kAccumulator);
}

TEST(Resolve, StreamsServeFewTokensOnHopper) {
  const Plan plan = plan_of(small_spec(), "h200");
  std::int64_t m = 1;
  for (std::size_t i = 0; m <= 8; ++i) {
    const GemmVariant& v = plan.variants.at(i);
    EXPECT_EQ(v.path, Path::kHopper);
    EXPECT_EQ(v.m_min, m);
    EXPECT_EQ(v.workers % v.cluster, 0);
    EXPECT_EQ(v.cluster, 2);  // which reads the tokens together
    EXPECT_EQ(v.split_k, 1);
    EXPECT_EQ(v.threads(), 32 * (v.warps_k + 1));
    EXPECT_EQ(plan.workspace_bytes(m), 0U);
    EXPECT_LE(v.shared_bytes * v.blocks_per_sm, plan.target.shared_per_sm);
    m = v.m_max + 1;
  }
  EXPECT_EQ(m, 9);
  EXPECT_NE(plan.variants[plan.variant_for(9)].kernel, GemmKernel::kStream);
  EXPECT_EQ(plan_of(small_spec(), "a100").variants.front().path, Path::kAmpere);
  GemmSpec spec = small_spec();
  spec.path = Path::kAmpere;
  EXPECT_EQ(plan_of(spec, "h200").variants.front().path, Path::kAmpere);
  spec.path = Path::kHopper;
  EXPECT_NE(refusal(spec, "a100").find("/path"), std::string::npos);
  spec.shape.m_max = 8;
  spec.tile.split_k = 3;
  EXPECT_EQ(plan_of(spec, "h200").variants.front().split_k, 3);
  spec.tile.warps_k = 31;
  EXPECT_NE(refusal(spec, "h200").find("/tile"), std::string::npos);
  spec = small_spec();
  spec.path = Path::kHopper;
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_NE(refusal(spec, "h200").find("float zero points"), std::string::npos);
}

// Tokens that do not fit beside the ring are shared out among the blocks of a cluster, with K.
TEST(Resolve, StreamsSplitLongKInClusters) {
  GemmSpec spec = small_spec();
  spec.shape.n = 8192;
  spec.shape.k = 28672;
  const Plan plan = plan_of(spec, "h200");
  const GemmVariant& one = plan.variants[plan.variant_for(1)];
  EXPECT_EQ(one.split_k, 1);
  const GemmVariant& eight = plan.variants[plan.variant_for(8)];
  EXPECT_EQ(eight.kernel, GemmKernel::kStream);
  EXPECT_EQ(eight.split_k, 4);
  EXPECT_EQ(eight.cluster, 4);
  // More than half of an SM: two blocks of a cluster would share one else.
  EXPECT_GE(2 * eight.shared_bytes, plan.target.shared_per_sm);
  EXPECT_EQ(plan.workspace_bytes(8), 0U);
  // No clusters there.
  EXPECT_EQ(plan_of(spec, "rtx5090").variants.back().kernel, GemmKernel::kTiles);
  spec.shape.k = 14336;
  EXPECT_EQ(plan_of(spec, "h200").variants[2].split_k, 2);
}

TEST(Resolve, StreamsSplitKWhereRowBlocksAreFew) {
  GemmSpec spec = small_spec();
  spec.shape.n = 512;
  for (const std::int64_t m : {1, 3, 5}) {
    const Plan plan = plan_of(spec, "h200");
    const GemmVariant& v = plan.variants[plan.variant_for(m)];
    EXPECT_EQ(v.kernel, GemmKernel::kStream);
    EXPECT_EQ(v.split_k, 4);
    EXPECT_GT(v.workers, 64);
  }
}

std::vector<GemmKernel> kernels_of(const Plan& plan) {
  std::vector<GemmKernel> kernels;
  for (const GemmVariant& v : plan.variants) kernels.push_back(v.kernel);
  return kernels;
}

TEST(Resolve, WgmmaServesManyTokensOnHopper) {
  GemmSpec spec = small_spec();
  Plan plan = plan_of(spec, "h200");
  EXPECT_EQ(plan.variants[plan.variant_for(8)].kernel, GemmKernel::kStream);
  EXPECT_EQ(plan.variants[plan.variant_for(9)].kernel, GemmKernel::kWgmma);
  EXPECT_EQ(plan.variants.back().kernel, GemmKernel::kWgmma);
  EXPECT_EQ(plan.variants.back().path, Path::kHopper);
  EXPECT_EQ(plan.variants.back().threads(), 384);
  for (const char* other : {"a100", "b200", "rtx5090"}) {
    EXPECT_EQ(plan_of(spec, other).variants.back().kernel, GemmKernel::kTiles) << other;
  }
  spec.path = Path::kHopper;
  plan = plan_of(spec, "h200");
  spec.shape.m_min = 9;
  EXPECT_EQ(plan_of(spec, "h200").variants.front().kernel, GemmKernel::kWgmma);
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
  EXPECT_EQ(plan_of(spec, "h200").variants.back().kernel, GemmKernel::kTiles);
  spec.path = Path::kHopper;
  spec.tile.n = 128;
  spec.tile.stages = 3;
  spec.tile.split_k = 1;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.variants.size(), 1U);
  EXPECT_EQ(plan.variants[0].tile_m, 64);
  EXPECT_EQ(plan.variants[0].tile_n, 128);
  EXPECT_EQ(plan.variants[0].stages, 3);
  EXPECT_EQ(plan.workspace_bytes(600), 0U);
  const std::pair<std::optional<int> TileSpec::*, int> wrong[] = {
      {&TileSpec::m, 48},      {&TileSpec::n, 64},      {&TileSpec::k, 192},
      {&TileSpec::stages, 1},  {&TileSpec::stages, 12}, {&TileSpec::split_k, 2},
      {&TileSpec::warps_m, 2}, {&TileSpec::warps_n, 4}, {&TileSpec::warps_k, 2}};
  for (const auto& [field, value] : wrong) {
    GemmSpec other = spec;
    other.tile.*field = value;
    EXPECT_NE(refusal(other, "h200").find("/tile"), std::string::npos) << value;
  }
  // 256 rows by 256 tokens: too many sums.
  spec.tile.m = spec.tile.n = 256;
  EXPECT_NE(refusal(spec, "h200").find("registers"), std::string::npos);
}

// What the kernel computes from the two numbers: tiles that are not shared go to whole blocks, of
// the others every block gets at least one stage.
TEST(WgmmaShares, GiveEveryBlockWork) {
  for (const std::int64_t n : {8, 1000, 4096, 8192, 28672, 57344}) {
    for (const std::int64_t k : {32, 128, 896, 8192}) {
      GemmSpec spec = small_spec();
      spec.shape = {n, k, 9, 8192};
      spec.weight.group_size = 32;
      spec.path = Path::kHopper;
      const Plan plan = plan_of(spec, "h200");
      for (const std::int64_t m : {9, 16, 32, 64, 100, 256, 1000, 8192}) {
        const GemmVariant& v = plan.variants[plan.variant_for(m)];
        const WgmmaShares shares = wgmma_shares(v, plan.layout, m);
        const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(n, v.tile_n);
        const std::int64_t stages = ceil_div(plan.layout.chunks_per_row_block, v.stage_chunks);
        EXPECT_GE(shares.workers, 1);
        EXPECT_LE(shares.workers, 132);
        EXPECT_EQ(shares.workers % shares.cluster, 0);
        if (shares.shared_tiles == 0) {
          EXPECT_EQ(shares.workers, std::min<std::int64_t>(tiles, 132));
          EXPECT_EQ(plan.workspace_bytes(m), 0U);
        } else {
          EXPECT_LE(shares.shared_tiles, tiles);
          EXPECT_EQ((tiles - shares.shared_tiles) % shares.workers, 0);
          EXPECT_LT(shares.shared_tiles, shares.workers);
          EXPECT_GE(shares.shared_tiles * stages, shares.workers);
          if (shares.cluster > 1) {
            // Each cluster has a tile of its own, and no other place for the sums.
            EXPECT_EQ(shares.workers, tiles * shares.cluster);
            EXPECT_EQ(shares.shared_tiles, tiles);
            EXPECT_EQ(plan.workspace_bytes(m), 0U);
            continue;
          }
          // A counter for each of two warpgroups, two places for each block.
          EXPECT_LE(2 * 4 * shares.shared_tiles, kWorkspaceCounterBytes);
          EXPECT_EQ(plan.workspace_bytes(m),
                    static_cast<std::size_t>(kWorkspaceCounterBytes +
                                             2 * 4 * v.workers * v.tile_m * v.tile_n));
          EXPECT_LE(plan.workspace_bytes(m), plan.max_workspace_bytes());
        }
      }
    }
  }
}

// Wide enough tiles for all SMs are left whole; half as many are shared by pairs, which need no
// workspace.
TEST(WgmmaShares, PairsShareTilesOfHalfTheSms) {
  GemmSpec spec = small_spec();
  spec.shape = {8192, 8192, 33, 256};
  spec.weight.zero_point = ZeroPoint::kNone;
  spec.path = Path::kHopper;
  const Plan plan = plan_of(spec, "h200");
  const auto shares = [&](std::int64_t m) {
    return wgmma_shares(plan.variants[plan.variant_for(m)], plan.layout, m);
  };
  EXPECT_EQ(shares(64).cluster, 2);
  EXPECT_EQ(shares(128).cluster, 2);
  EXPECT_EQ(shares(256).cluster, 1);
  EXPECT_EQ(shares(256).shared_tiles, 0);
}

TEST(Resolve, ActOrderGathersXFirst) {
  GemmSpec spec = small_spec();
  spec.act_order = true;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.tile_kernels.size(), 1U);
  EXPECT_EQ(plan.tile_kernels[0].role, KernelRole::kGather);
  EXPECT_EQ(plan.kernel_count(), plan.variants.size() + 1);
  // Behind the counters, which no other M may find overwritten.
  for (const std::int64_t m : {1, 8, 64, 600}) {
    EXPECT_GE(plan.gathered_offset(m), static_cast<std::size_t>(kWorkspaceCounterBytes));
    EXPECT_EQ(plan.workspace_bytes(m),
              plan.gathered_offset(m) + static_cast<std::size_t>(2 * m * spec.shape.k));
  }
}

TEST(Resolve, HonoursATileOrSaysWhyNot) {
  GemmSpec spec = small_spec();
  spec.tile.m = 64;
  spec.tile.n = 64;
  spec.tile.k = 128;
  spec.tile.stages = 3;
  spec.tile.split_k = 4;
  spec.tile.warps_m = 1;
  spec.tile.warps_n = 2;
  spec.tile.warps_k = 2;
  spec.shape.m_max = 512;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.variants.size(), 1u);
  const GemmVariant& v = plan.variants[0];
  EXPECT_EQ(v.tile_m, 64);
  EXPECT_EQ(v.stages, 3);
  EXPECT_EQ(v.split_k, 4);
  EXPECT_EQ(v.warps_k, 2);
  EXPECT_GT(plan.workspace_bytes(100), static_cast<std::size_t>(kWorkspaceCounterBytes));

  spec.tile.stages = 20;
  EXPECT_NE(refusal(spec, "h200").find("shared memory"), std::string::npos);
  spec.tile.stages = 2;
  spec.tile.split_k = 1000;
  EXPECT_NE(refusal(spec, "h200").find("/tile/split_k"), std::string::npos);
  spec.tile.split_k = 1;
  spec.tile.m = 256;
  EXPECT_NE(refusal(spec, "h200").find("registers"), std::string::npos);
}

// Sums of a split lie in the workspace: it must stay small beside the weights.
TEST(Resolve, WorkspaceStaysBounded) {
  for (const std::int64_t n : {512, 4096, 28672}) {
    for (const std::int64_t k : {1024, 8192}) {
      GemmSpec spec = small_spec();
      spec.shape.n = n;
      spec.shape.k = k;
      const Plan plan = plan_of(spec, "h200");
      for (const GemmVariant& v : plan.variants) {
        EXPECT_LE(plan.workspace_bytes(v.m_max), std::size_t{256} << 20) << v.name;
      }
      EXPECT_LE(plan.max_workspace_bytes(), std::size_t{256} << 20);
      EXPECT_EQ(plan_of(spec, "a100").workspace_bytes(kDefaultMaxM), 0u);
    }
  }
}

TEST(Resolve, ScaleModeFollowsFromTheTypes) {
  GemmSpec spec = small_spec();
  EXPECT_EQ(plan_of(spec, "h200").variants.front().scale_mode, ScaleMode::kAccumulator);
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kWeight);
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kAccumulator);
  spec.weight.group_size = kPerChannel;
  EXPECT_EQ(plan_of(spec, "h200").variants.back().scale_mode, ScaleMode::kChannel);
}

TEST(PlanJson, HoldsEveryDecision) {
  const auto json = nlohmann::json::parse(plan_to_json(plan_of(small_spec(), "a100")));
  EXPECT_EQ(json["target"]["arch"], "sm_80");
  EXPECT_EQ(json["decode"]["ops"].size(), 9u);
  EXPECT_EQ(json["kernels"][0]["tile"]["split_k"],
            plan_of(small_spec(), "a100").variants[0].split_k);
}

// Words of the language without a kernel are refused by name.
TEST(Refuse, CodesWithoutKernel) {
  const Spec spec = Spec::parse(
      R"({"heddle":1,"op":"decode_attention","activation":{"dtype":"fp16"},"kv":{"dtype":"int2"},)"
      R"("shape":{"heads":32,"kv_heads":8,"head_dim":128}})");
  try {
    resolve(spec, target_from_name("h200"));
    ADD_FAILURE() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "plan.unsupported");
    ASSERT_EQ(error.problems().size(), 2U);
    EXPECT_EQ(error.problems()[0].pointer, "/kv/k/dtype");
    EXPECT_EQ(error.problems()[0].value, "\"int2\"");
    EXPECT_EQ(error.problems()[1].pointer, "/kv/v/dtype");
  }
}

}  // namespace
}  // namespace heddle
