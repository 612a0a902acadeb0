#include "runtime/launch/gemm_launch.h"

#include <gtest/gtest.h>

#include <utility>

#include "generator/families/all.h"
#include "runtime/launch/launch_table.h"
#include "tests/byte_gemm.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

Plan plan_with(bool bias, bool residual) {
  GemmSpec spec;
  spec.shape = {4096, 4096, 2, 64};
  spec.epilogue.bias = bias;
  spec.epilogue.residual = residual;
  Plan plan;
  plan.spec = Spec::from_gemm(spec);
  return plan;
}

GemmArgs gemm_args() {
  GemmArgs args;
  args.x = memory(0x1000);
  args.weights = memory(0x2000);
  args.y = memory(0x3000);
  args.m = 64;
  return args;
}

std::string gemm_refusal(const Plan& plan, const GemmArgs& args, std::size_t workspace_bytes = 0) {
  return code_thrown_by([&] { validate(plan, workspace_bytes, args); });
}

TEST(GemmLaunchTest, AcceptsGoodArguments) {
  EXPECT_EQ(gemm_refusal(plan_with(false, false), gemm_args()), "");
}

TEST(GemmLaunchTest, RefusesMOutsideTheSpec) {
  GemmArgs args = gemm_args();
  for (const std::int64_t m : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{65},
                               std::int64_t{1} << 40}) {
    args.m = m;
    EXPECT_EQ(gemm_refusal(plan_with(false, false), args), "launch.m") << m;
  }
  args.m = 2;
  EXPECT_EQ(gemm_refusal(plan_with(false, false), args), "");
}

TEST(GemmLaunchTest, RefusesMissingAndMisalignedPointers) {
  const Plan plan = plan_with(false, false);
  for (DeviceInput GemmArgs::*field : {&GemmArgs::x, &GemmArgs::weights}) {
    GemmArgs args = gemm_args();
    args.*field = {};
    EXPECT_EQ(gemm_refusal(plan, args), "launch.missing");
    args.*field = memory(0x1008);
    EXPECT_EQ(gemm_refusal(plan, args), "launch.misaligned");
  }
  GemmArgs args = gemm_args();
  args.y = {};
  EXPECT_EQ(gemm_refusal(plan, args), "launch.missing");
  args.y = memory(0x3002);
  EXPECT_EQ(gemm_refusal(plan, args), "launch.misaligned");
}

// For 384 columns and 64 tokens: three lines of FP32, or one of words.
TEST(GemmLaunchTest, ScalesOfGroupsHaveAStride) {
  const auto plan_of = [](RowScaleDtype dtype) {
    GemmSpec spec = block_gemm(256, 384);
    spec.activation_scale.scale_dtype = dtype;
    spec.shape.m_max = 64;
    Plan plan;
    plan.spec = Spec::from_gemm(spec);
    return plan;
  };
  GemmArgs args = gemm_args();
  args.m = 62;
  const auto refusal_of = [&](RowScaleDtype dtype, std::size_t bytes, std::int64_t stride) {
    args.x_scales = {memory(0x5000).data, bytes};
    args.x_scale_stride = stride;
    return gemm_refusal(plan_of(dtype), args);
  };
  const auto fp32 = RowScaleDtype::kFp32;
  EXPECT_EQ(refusal_of(fp32, (2 * 64 + 62) * 4, 0), "");
  EXPECT_EQ(refusal_of(fp32, (2 * 64 + 62) * 4 - 1, 0), "launch.too_small");
  EXPECT_EQ(refusal_of(fp32, (2 * 80 + 62) * 4, 80), "");
  EXPECT_EQ(refusal_of(fp32, (2 * 80 + 62) * 4 - 1, 80), "launch.too_small");
  EXPECT_EQ(refusal_of(RowScaleDtype::kE8m0, 62 * 4, 0), "");
  EXPECT_EQ(refusal_of(RowScaleDtype::kE8m0, 62 * 4 - 1, 0), "launch.too_small");
  for (const std::int64_t stride : {60, 62, 66, -64}) {
    EXPECT_EQ(refusal_of(fp32, 1 << 20, stride), "launch.size") << stride;
  }
  args.x_scales = memory(0x5004);
  args.x_scale_stride = 0;
  EXPECT_EQ(gemm_refusal(plan_of(fp32), args), "launch.misaligned");
  args.x_scales = {};
  EXPECT_EQ(gemm_refusal(plan_of(fp32), args), "launch.missing");
  GemmArgs plain = gemm_args();
  plain.x_scale_stride = 64;
  EXPECT_EQ(gemm_refusal(plan_with(false, false), plain), "launch.size");
}

TEST(GemmLaunchTest, WantsBiasAndResidualExactlyIfTheSpecHasThem) {
  const struct {
    DeviceInput GemmArgs::*field;
    Plan with;
  } cases[] = {{&GemmArgs::bias, plan_with(true, false)},
               {&GemmArgs::residual, plan_with(false, true)}};
  for (const auto& [field, with] : cases) {
    GemmArgs args = gemm_args();
    EXPECT_EQ(gemm_refusal(with, args), "launch.missing");
    args.*field = memory(0x4000);
    EXPECT_EQ(gemm_refusal(with, args), "");
    EXPECT_EQ(gemm_refusal(plan_with(false, false), args), "launch.unexpected");
    args.*field = memory(0x4004);
    EXPECT_EQ(gemm_refusal(with, args), "launch.misaligned");
  }
}

TEST(GemmLaunchTest, WantsAScaleOfCodesExactlyIfTheSpecHasThem) {
  GemmSpec spec = plan_with(false, false).spec.gemm();
  spec.output = DType::kInt8;
  spec.output_scale.granularity = RowGranularity::kTensor;
  Plan plan;
  plan.spec = Spec::from_gemm(spec);
  GemmArgs args = gemm_args();
  EXPECT_EQ(gemm_refusal(plan, args), "launch.missing");
  args.y_scales = memory(0x4004);
  EXPECT_EQ(gemm_refusal(plan, args), "");
  EXPECT_EQ(gemm_refusal(plan_with(false, false), args), "launch.unexpected");
  args.y_scales = memory(0x4002);
  EXPECT_EQ(gemm_refusal(plan, args), "launch.misaligned");
}

// For 384 columns and 62 tokens: three lines of FP32, or one of words.
TEST(GemmLaunchTest, WantsRoomForScalesOfGroupsOfCodes) {
  for (const auto& [dtype, bytes] :
       {std::pair{RowScaleDtype::kFp32, (2 * 64 + 62) * 4}, {RowScaleDtype::kE8m0, 62 * 4}}) {
    GemmSpec spec;
    spec.shape = {384, 4096, 2, 64};
    spec.output = DType::kFp8E4m3;
    spec.output_scale = {RowGranularity::kGroup, dtype};
    Plan plan;
    plan.spec = Spec::from_gemm(spec);
    GemmArgs args = gemm_args();
    args.m = 62;
    EXPECT_EQ(gemm_refusal(plan, args), "launch.missing");
    args.y_scales = memory(0x4000, bytes);
    EXPECT_EQ(gemm_refusal(plan, args), "");
    args.y_scales = memory(0x4000, bytes - 1);
    EXPECT_EQ(gemm_refusal(plan, args), "launch.too_small");
    args.y_scales = memory(0x4004, bytes);
    EXPECT_EQ(gemm_refusal(plan, args), "launch.misaligned");
  }
}

TEST(GemmLaunchTest, WantsAWorkspaceThatIsLargeEnoughWhereOneIsNeeded) {
  const Plan plan = plan_with(false, false);
  GemmArgs args = gemm_args();
  EXPECT_EQ(gemm_refusal(plan, args, 1024), "launch.missing");
  args.workspace = memory(0x5000);
  args.workspace.bytes = 1023;
  EXPECT_EQ(gemm_refusal(plan, args, 1024), "launch.workspace");
  args.workspace.bytes = 1024;
  EXPECT_EQ(gemm_refusal(plan, args, 1024), "");
  args.workspace = memory(0x5001);
  EXPECT_EQ(gemm_refusal(plan, args, 1024), "launch.misaligned");
}

TEST(GemmLaunchTest, GridCoversTheOutputWithTilesOfMInX) {
  Plan plan;
  GemmSpec spec;
  spec.shape = {4104, 4096, 1, 1000000};
  plan.spec = Spec::from_gemm(spec);
  device::TilesConfig tiles{};
  tiles.shape.n = 4104;
  tiles.feeder = device::Feeder::kAsync;
  tiles.tile_m = 8;
  tiles.tile_n = 64;
  tiles.split_k = 3;
  plan.kernels = {{}};
  plan.kernels[0].family = tiles_family();
  plan.kernels[0].configuration = make_configuration(tiles);
  const KernelLaunch launch = plan.launch(0, {9});
  EXPECT_EQ(launch.grid_x, 2U);
  EXPECT_EQ(launch.grid_y, 65U);
  EXPECT_EQ(launch.grid_z, 3U);
  EXPECT_EQ(plan.launch(0, {std::int64_t{8} * 100000}).grid_x, 100000U);
}

void expect_equal(const KernelLaunch& launch, const KernelLaunch& expected) {
  EXPECT_EQ(launch.grid_x, expected.grid_x);
  EXPECT_EQ(launch.grid_y, expected.grid_y);
  EXPECT_EQ(launch.grid_z, expected.grid_z);
  EXPECT_EQ(launch.cluster, expected.cluster);
  EXPECT_EQ(launch.schedule, expected.schedule);
}

TEST(GemmLaunchTest, TheTableHasTheBlocksOfEveryM) {
  for (const char* target : {"h200", "a100"}) {
    for (const auto& [n, k] : {std::pair{264, 4096},
                               {4096, 4096},
                               {17000, 4096},
                               {34816, 5120},
                               {25600, 5120},
                               {18944, 3072}}) {
      GemmSpec spec;
      spec.shape = {n, k, 3, 600};
      const Plan plan = resolve(Spec::from_gemm(spec), target_from_name(target));
      for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
        const LaunchTable table(plan, i);
        for (std::int64_t m = plan.kernels[i].size_min; m <= plan.kernels[i].size_max; ++m) {
          SCOPED_TRACE(::testing::Message() << target << " N = " << n << " M = " << m);
          expect_equal(table.at(plan, {m}), plan.launch(i, {m}));
          // What blocks of several clusters share they add in the workspace.
          const auto* wgmma = config_if<WarpgroupKernel>(plan.kernels[i]);
          const KernelLaunch launch = table.at(plan, {m});
          if (wgmma == nullptr || launch.schedule == 0) continue;
          const bool in_cluster = static_cast<int>(launch.cluster) > wgmma->cluster;
          EXPECT_EQ(plan.workspace_bytes(m) > 0, !in_cluster);
        }
      }
    }
  }
}

TEST(GemmLaunchTest, TheTableOfAnyMIsSmall) {
  GemmSpec spec;
  spec.shape = {264, 4096, 1, INT32_MAX};
  const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
  const std::size_t last = plan.kernels.size() - 1;
  ASSERT_TRUE(is_wgmma(plan.kernels[last]));
  const LaunchTable table(plan, last);
  for (const std::int64_t m : {65535, 65536, 65537, 65536 + 256, INT32_MAX - 1, INT32_MAX}) {
    SCOPED_TRACE(m);
    expect_equal(table.at(plan, {m}), plan.launch(last, {m}));
  }
}

}  // namespace
}  // namespace heddle
