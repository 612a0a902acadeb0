// GEMM of two operands of eight bits on mma.sync: on which GPUs, by which path, in which tiles.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "byte_tiles/config.h"
#include "generator/operations/kernel_argument.h"
#include "generator/planner/candidates.h"
#include "generator/planner/explain.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;

GemmSpec with_path(GemmSpec spec, Path path) {
  spec.path = path;
  return spec;
}

const ByteTilesConfig& config(const PlannedKernel& kernel) {
  return config_of<ByteTilesConfig>(kernel);
}

bool is_byte_tiles(const PlannedKernel& kernel) { return kernel.family == byte_tiles_family(); }

TEST(ByteTiles, ServeEveryMOfOlderAndNewerGpus) {
  for (const char* target : {"sm_75", "a100", "sm_86", "rtx4090", "sm_100", "rtx5090"}) {
    for (const DType dtype : {DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2}) {
      if (dtype != DType::kInt8 && target_from_name(target).arch() < 89) continue;
      for (const auto& [n, k] : {std::pair{4096, 4096}, {1032, 1312}, {8, 32}}) {
        const Plan plan = plan_of(byte_gemm(n, k, dtype), target);
        EXPECT_EQ(plan.kernels.front().size_min, 1);
        EXPECT_EQ(plan.kernels.back().size_max, kDefaultMaxM);
        for (const PlannedKernel& kernel : plan.kernels) {
          SCOPED_TRACE(std::string(target) + " " + kernel.name);
          ASSERT_TRUE(is_byte_tiles(kernel));
          EXPECT_EQ(config(kernel).by_registers, plan.target.arch() < 80);
          EXPECT_EQ(path_of(kernel), plan.target.arch() < 80 ? Path::kTuring : Path::kAmpere);
          EXPECT_LE(kernel.shared_bytes, plan.target.shared_per_block);
          EXPECT_EQ(config(kernel).promotes, dtype != DType::kInt8);
          EXPECT_TRUE(kernel.takes(KernelArgument::kXScales));
        }
      }
    }
  }
}

TEST(ByteTiles, HaveSm90ByPathAlone) {
  const GemmSpec spec = byte_gemm(4096, 4096, DType::kInt8);
  for (const PlannedKernel& kernel : plan_of(spec, "h200").kernels) {
    EXPECT_TRUE(is_wgmma(kernel)) << kernel.name;
  }
  for (const Path path : {Path::kAmpere, Path::kTuring}) {
    for (const PlannedKernel& kernel : plan_of(with_path(spec, path), "h200").kernels) {
      ASSERT_TRUE(is_byte_tiles(kernel)) << kernel.name;
      EXPECT_EQ(path_of(kernel), path) << kernel.name;
    }
  }
  const GemmSpec fp8 = with_path(byte_gemm(4096, 4096, DType::kFp8E4m3), Path::kAmpere);
  for (const PlannedKernel& kernel : plan_of(fp8, "h200").kernels) {
    ASSERT_TRUE(is_byte_tiles(kernel)) << kernel.name;
  }
}

// Whose outputs' scales they find have tiles of whole groups, few rows too.
TEST(ByteTiles, HoldTheOutputsThatShareAScale) {
  for (const char* target : {"sm_75", "a100", "rtx4090", "rtx5090"}) {
    for (const bool gated : {false, true}) {
      for (const auto& [n, k] : {std::pair{4096, 4096}, {1040, 1312}, {16, 32}}) {
        GemmSpec spec = with_groups(byte_gemm(n, k, DType::kInt8), DType::kInt8);
        spec.epilogue.gated = gated;
        if (gated && target_from_name(target).arch() == 75) continue;
        const Plan plan = plan_of(spec, target);
        EXPECT_EQ(plan.kernels.back().size_max, kDefaultMaxM);
        for (const PlannedKernel& kernel : plan.kernels) {
          ASSERT_TRUE(is_byte_tiles(kernel)) << kernel.name;
          EXPECT_EQ(config(kernel).tile_n % (gated ? 256 : 128), 0) << kernel.name;
          EXPECT_TRUE(kernel.takes(KernelArgument::kYScales)) << kernel.name;
        }
      }
    }
  }
  const GemmSpec spec = with_groups(byte_gemm(4096, 4096, DType::kInt8), DType::kInt8);
  for (const PlannedKernel& kernel : plan_of(spec, "h200").kernels) {
    EXPECT_TRUE(is_wgmma(kernel)) << kernel.name;
  }
  EXPECT_TRUE(is_byte_tiles(plan_of(with_path(spec, Path::kAmpere), "h200").kernels.front()));
}

TEST(ByteTiles, RefuseByName) {
  const GemmSpec int8 = byte_gemm(256, 512, DType::kInt8);
  const GemmSpec fp8 = byte_gemm(256, 512, DType::kFp8E4m3);
  const struct {
    GemmSpec spec;
    const char* target;
    const char* says;
  } cases[] = {
      {fp8, "a100", "no FP8"},
      {fp8, "sm_75", "no FP8"},
      {with_path(fp8, Path::kTuring), "h100", "the path turing has no FP8"},
      {with_path(int8, Path::kAmpere), "sm_75", "no cp.async"},
      {with_path(int8, Path::kHopper), "a100", "no bulk copies"},
      {with_path(int8, Path::kHopper), "b200",
       "/path: byte_tiles: it has no kernels of the path hopper, got \"hopper\"; allowed: "
       "\"ampere\""},
      {block_gemm(256, 512), "rtx4090", "/weight/group_rows: byte_tiles: its sums meet"},
      {block_gemm(256, 512), "rtx4090",
       "warpgroup: it needs wgmma, which sm_90 alone has, got sm_89"},
      {with_path(block_gemm(256, 512), Path::kAmpere), "h100",
       "/path: warpgroup, byte_stream: the spec asks for another path, got \"ampere\"; allowed: "
       "\"hopper\""},
      {four_bit_gemm(256, 512, DType::kInt8), "a100",
       "/weight/bits: byte_tiles: it multiplies weights of 8 bits, got 4; allowed: 8"},
      {four_bit_gemm(256, 512, DType::kInt8), "a100",
       "/activation/dtype: other families multiply values of 16 bits, got \"int8\"; allowed: "
       "\"fp16\""},
      {four_bit_gemm(256, 512, DType::kFp8E4m3), "b200",
       "/shape/m/1: byte_stream: it serves up to 16 tokens, got 65536; allowed: at most 16"},
      {with_path(four_bit_gemm(256, 512, DType::kInt8), Path::kTuring), "h100",
       "/path: warpgroup, byte_stream: the spec asks for another path"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(refusal(one.spec, one.target).find(one.says), std::string::npos)
        << one.target << ": " << refusal(one.spec, one.target);
  }
}

TEST(ByteTiles, RefuseTilesByField) {
  const auto refused = [](const TileSpec& tile, Path path = Path::kAuto) {
    GemmSpec spec = with_path(byte_gemm(256, 512, DType::kInt8), path);
    spec.tile = tile;
    return refusal(spec, path == Path::kTuring ? "sm_75" : "a100");
  };
  TileSpec tile;
  tile.k = 192;
  EXPECT_NE(refused(tile).find("/tile/k"), std::string::npos) << refused(tile);
  tile = {};
  tile.k = 128;
  tile.warps_k = 2;
  EXPECT_NE(refused(tile).find("whole runs of 128"), std::string::npos) << refused(tile);
  tile = {};
  tile.m = 8;
  tile.warps_m = 2;
  EXPECT_NE(refused(tile).find("/tile/m"), std::string::npos) << refused(tile);
  tile = {};
  tile.n = 48;
  tile.warps_n = 2;
  EXPECT_NE(refused(tile).find("/tile/n"), std::string::npos) << refused(tile);
  tile = {};
  tile.split_k = 5;
  EXPECT_NE(refused(tile).find("/tile/split_k"), std::string::npos) << refused(tile);
  tile = {};
  tile.stages = 3;
  EXPECT_EQ(refused(tile), "accepted");
  EXPECT_NE(refused(tile, Path::kTuring).find("/tile/stages"), std::string::npos);
}

// Sixteen warps leave a thread 128 registers, in two blocks of an SM 64.
TEST(ByteTiles, OfTheSpecsOwnSizeHaveRegistersForTheirSums) {
  GemmSpec spec = with_path(byte_gemm(4096, 4096, DType::kFp8E4m3), Path::kAmpere);
  spec.tile.m = 64;
  spec.tile.n = 128;
  spec.tile.warps_n = 8;
  spec.tile.warps_k = 2;
  for (const PlannedKernel& kernel : plan_of(spec, "h100").kernels) {
    EXPECT_EQ(kernel.threads, 512) << kernel.name;
    EXPECT_EQ(kernel.blocks_per_sm, 1) << kernel.name;
  }
  spec.tile.n = 256;
  const std::string why = refusal(spec, "h100");
  EXPECT_NE(why.find("needs 128 registers of a thread for its sums"), std::string::npos) << why;
}

TEST(ByteTiles, SayWhereFp8IsFp16) {
  for (const auto& [target, is_converted] : {std::pair("b200", true), {"sm_89", false}}) {
    const std::string page = describe(plan_of(byte_gemm(256, 512, DType::kFp8E4m3), target));
    EXPECT_EQ(page.find("multiplies FP8 as FP16") != std::string::npos, is_converted) << page;
    const std::string other = describe(plan_of(byte_gemm(256, 512, DType::kInt8), target));
    EXPECT_EQ(other.find("multiplies FP8 as FP16"), std::string::npos) << other;
  }
}

TEST(ByteTiles, PromoteOnlyWhatIsPromoted) {
  GemmSpec spec = byte_gemm(4096, 4096, DType::kFp8E4m3);
  spec.accumulation = Accumulation::kFast;
  for (const PlannedKernel& kernel : plan_of(spec, "rtx4090").kernels) {
    EXPECT_FALSE(config(kernel).promotes) << kernel.name;
    EXPECT_FALSE(config(kernel).converts) << kernel.name;
  }
  for (const PlannedKernel& kernel : plan_of(spec, "b200").kernels) {
    EXPECT_TRUE(config(kernel).converts) << "its mma.sync has no FP8: " << kernel.name;
  }
}

TEST(ByteTiles, ShareKWhereTilesAreFewerThanSms) {
  GemmSpec spec = byte_gemm(512, 8192, DType::kInt8);
  spec.shape.m_max = 64;
  const Plan plan = plan_of(spec, "a100");
  const PlannedKernel& kernel = kernel_at(plan, 64);
  EXPECT_GT(config(kernel).split_k, 1);
  EXPECT_GT(plan.workspace_bytes(64), static_cast<std::size_t>(kWorkspaceCounterBytes));
  const KernelLaunch launch = plan.launch(plan.kernel_for(64), {64});
  EXPECT_EQ(launch.grid_z, static_cast<unsigned>(config(kernel).split_k));
}

TEST(ByteTiles, SayWhyThereAreNone) {
  const auto why = [](const GemmSpec& spec, const char* target) {
    for (const AbsentFamily& absent : explain_choice(plan_of(spec, target), 16).absent) {
      if (absent.family == byte_tiles_family()) return absent.why;
    }
    return std::string();
  };
  EXPECT_EQ(why(small_spec(), "a100"), "it multiplies codes of 8 bits");
  EXPECT_NE(why(byte_gemm(256, 512, DType::kInt8), "h100").find("its time is not known"),
            std::string::npos);
  EXPECT_NE(why(block_gemm(256, 512), "h100").find("not of blocks"), std::string::npos);
  EXPECT_NE(why(four_bit_gemm(256, 512, DType::kInt8), "h100").find("weights of 8 bits"),
            std::string::npos);
  EXPECT_EQ(why(byte_gemm(256, 512, DType::kInt8), "a100"), "");
}

// Tuned tables name kernels by their labels.
TEST(ByteTiles, HaveLabelsOfTheirOwn) {
  GemmSpec spec = byte_gemm(4096, 4096, DType::kInt8);
  for (const char* target : {"a100", "sm_75"}) {
    const Plan plan = plan_of(spec, target);
    for (const std::int64_t m : {8, 64, 2048}) {
      std::set<std::string> labels;
      std::size_t count = 0;
      for (const CandidatePlan& one : candidate_plans(plan, m)) {
        labels.insert(kernel_label(one.plan.kernels.front()));
        ++count;
      }
      EXPECT_EQ(labels.size(), count) << target << ", M " << m;
    }
  }
}

}  // namespace
}  // namespace heddle
