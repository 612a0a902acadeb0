#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::TilesConfig;

TEST(Resolve, EveryTargetGetsTilesThatFitItsSharedMemory) {
  for (const Target& target : known_targets()) {
    for (const int group : {kPerChannel, 32, 64, 128, 256}) {
      GemmSpec spec = small_spec();
      spec.weight.group_size = group;
      spec.weight.zero_point = ZeroPoint::kInt;
      for (const PlannedKernel& one : resolve(Spec::from_gemm(spec), target).kernels) {
        EXPECT_LE(one.shared_bytes, target.shared_per_block) << target.name;
        if (one.blocks_per_sm > 1) {
          EXPECT_LE(one.blocks_per_sm * (one.shared_bytes + 1024), target.shared_per_sm)
              << target.name;
        }
        EXPECT_GE(one.family->json(one).value("stages", 2), 2);
      }
    }
  }
}

TEST(Resolve, TuringHasItsOwnPathAndNoBfloat16) {
  EXPECT_EQ(path_of(plan_of(small_spec(), "sm_75").kernels[0]), Path::kTuring);
  EXPECT_EQ(path_of(plan_of(small_spec(), "sm_80").kernels[0]), Path::kAmpere);
  EXPECT_NE(refusal(small_spec(DType::kBf16), "sm_75").find("bfloat16"), std::string::npos);
  GemmSpec forced = small_spec();
  forced.path = Path::kAmpere;
  EXPECT_NE(refusal(forced, "sm_75").find("cp.async"), std::string::npos);
  forced.path = Path::kTuring;
  EXPECT_EQ(path_of(plan_of(forced, "h200").kernels[0]), Path::kTuring);
}

TEST(Resolve, RefusesTilesThatAreTooSmallForTheirWarps) {
  GemmSpec spec = small_spec();
  spec.tile.warps_k = 4;
  EXPECT_EQ(config_of<TilesConfig>(plan_of(spec, "a100").kernels.front()).warps_k, 4);
  spec.tile.k = 128;
  EXPECT_NE(refusal(spec, "a100").find("/tile/k"), std::string::npos);
  spec.tile.k = 256;
  spec.tile.warps_k = 8;
  EXPECT_NE(refusal(spec, "h200").find("/tile/k"), std::string::npos);
  GemmSpec rows = small_spec();
  rows.path = Path::kHopper;
  rows.shape.m_min = 17;
  rows.shape.m_max = 32;
  rows.tile.n = 32;
  EXPECT_NE(refusal(rows, "h200").find("/tile/n"), std::string::npos);
}

TEST(Resolve, WarpsThatAreLeftOpenFitTheColumnsOfAStage) {
  GemmSpec spec = small_spec();
  spec.tile.k = 128;
  for (const PlannedKernel& kernel : plan_of(spec, "a100").kernels) {
    const auto& v = config_of<TilesConfig>(kernel);
    EXPECT_EQ(v.stage_k, 128);
    EXPECT_LE(64 * v.warps_k, v.stage_k);
  }
}

TEST(Resolve, RefusesMoreTilesThanAGridHas) {
  GemmSpec spec = small_spec();
  spec.shape.n = 1048576;
  spec.shape.m_max = 16;
  spec.tile.n = 16;
  spec.tile.warps_n = 1;
  EXPECT_NE(refusal(spec, "a100").find("65535"), std::string::npos);
  spec.tile.n = 32;
  EXPECT_EQ(refusal(spec, "a100"), "accepted");
}

// What is allowed and what stands in the way are true of every tile that the spec leaves open.
TEST(Resolve, RefusalsNameWhatTheSpecSets) {
  GemmSpec spec = small_spec();
  for (const int split : {5, 7, 8, 16, 32}) {
    spec.tile.split_k = split;
    EXPECT_EQ(refusal(spec, "a100"), "accepted") << split;
  }
  for (const int split : {33, 1024}) {
    spec.tile.split_k = split;
    EXPECT_NE(refusal(spec, "a100").find("allowed: 1 to 32"), std::string::npos) << split;
  }
  spec.tile.k = 1024;
  spec.tile.split_k = 5;
  EXPECT_NE(refusal(spec, "a100").find("allowed: 1 to 4"), std::string::npos);
  // Values that the planner took for open fields are named.
  spec.tile = {};
  spec.tile.n = 1024;
  EXPECT_NE(refusal(spec, "a100").find("a tile of m 64, n 1024, k 128 and 2 stages needs "),
            std::string::npos)
      << refusal(spec, "a100");
  spec.tile = {};
  spec.tile.m = 8;
  spec.tile.n = 16;
  spec.tile.stages = 32;
  EXPECT_NE(refusal(spec, "a100").find("a tile of m 8, n 16, k 256 and 32 stages needs "),
            std::string::npos)
      << refusal(spec, "a100");
  // The refusal of wgmma names neither rows nor a number of stages that nobody set.
  spec.tile = {};
  spec.tile.k = 512;
  spec.path = Path::kHopper;
  EXPECT_EQ(refused_fields(Spec::from_gemm(spec), "h100"), Pointers{"/tile"});
  EXPECT_NE(refusal(spec, "h100").find("two stages of 512 columns of a tile of "),
            std::string::npos);
  spec.shape.m_min = 9;
  spec.shape.m_max = 16;
  spec.tile.k = 8192;
  EXPECT_NE(refusal(spec, "h100").find("/tile/k: warpgroup: "), std::string::npos);
  EXPECT_NE(refusal(spec, "h100").find("/tile: stream: "), std::string::npos);
}

TEST(Resolve, SaysWhatAStreamLacks) {
  GemmSpec spec = small_spec();
  spec.path = Path::kHopper;
  spec.shape.n = 200;
  spec.shape.k = 12288;
  spec.shape.m_min = 4;
  EXPECT_NE(refusal(spec, "rtx5090").find("such long rows of X do not fit"), std::string::npos);
  spec = small_spec();
  spec.path = Path::kHopper;
  spec.tile.m = 64;
  EXPECT_NE(refusal(spec, "h200").find("no stream of M = 1 has this tile"), std::string::npos);
  spec.tile = {};
  EXPECT_EQ(refusal(spec, "sm_75").find("ampere"), std::string::npos);
}

// A spec whose fewest tokens the path serves may have more.
TEST(Resolve, MoreTokensThanThePathServesHaveTheOneBeforeIt) {
  GemmSpec spec = small_spec();
  spec.path = Path::kHopper;
  for (const char* target : {"b200", "rtx5090", "h200"}) {
    spec.pre_scale = target == std::string("h200");  // which wgmma does not serve
    const Plan plan = plan_of(spec, target);
    EXPECT_EQ(path_of(kernel_at(plan, 1)), Path::kHopper) << target;
    EXPECT_EQ(path_of(kernel_at(plan, 4)), Path::kHopper) << target;
    EXPECT_EQ(path_of(kernel_at(plan, 17)), Path::kAmpere) << target;
  }
  spec.shape.m_min = 17;
  EXPECT_NE(refusal(spec, "h200").find("/path"), std::string::npos);
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

TEST(Resolve, ActOrderGathersXFirst) {
  GemmSpec spec = small_spec();
  spec.act_order = true;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.before.size(), 1U);
  EXPECT_EQ(plan.before[0].family->name(), "gather");
  EXPECT_EQ(plan.kernel_count(), plan.kernels.size() + 1);
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
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto& v = config_of<TilesConfig>(kernel);
    EXPECT_EQ(v.tile_m, 64);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(v.stage_k, 128);
    EXPECT_EQ(v.stages, 3);
    EXPECT_EQ(v.split_k, 4);
    EXPECT_EQ(v.warps_m, 1);
    EXPECT_EQ(v.warps_n, 2);
    EXPECT_EQ(v.warps_k, 2);
  }
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
      for (const PlannedKernel& one : plan.kernels) {
        EXPECT_LE(plan.workspace_bytes(one.size_max), std::size_t{256} << 20) << one.name;
      }
      EXPECT_LE(plan.max_workspace_bytes(), std::size_t{256} << 20);
      EXPECT_LE(plan_of(spec, "a100").max_workspace_bytes(), std::size_t{256} << 20);
    }
  }
}

TEST(PlanJson, HoldsEveryDecision) {
  const auto json = nlohmann::json::parse(plan_to_json(plan_of(small_spec(), "a100")));
  EXPECT_EQ(json["target"]["arch"], "sm_80");
  EXPECT_EQ(json["decode"]["ops"].size(), 8u);
  EXPECT_EQ(json["kernels"][0]["configuration"]["split_k"],
            config_of<TilesConfig>(plan_of(small_spec(), "a100").kernels[0]).split_k);
  EXPECT_EQ(json["kernels"].size(), plan_of(small_spec(), "a100").kernels.size());
}

// Rows of scales that no copy fits.
TEST(Refuse, HeadsOfNvfp4) {
  const Spec spec = Spec::parse(
      R"({"heddle":1,"op":"decode_attention","activation":{"dtype":"fp16"},"kv":{"dtype":"nvfp4"},)"
      R"("shape":{"heads":32,"kv_heads":8,"head_dim":96}})");
  const std::optional<Error> error = plan_error(spec, "h200");
  ASSERT_TRUE(error);
  ASSERT_EQ(error->problems().size(), 1U);
  EXPECT_EQ(error->problems()[0].pointer, "/shape/head_dim");
  EXPECT_EQ(error->problems()[0].value, "96, which makes 6 bytes of scales");
}

}  // namespace
}  // namespace heddle
