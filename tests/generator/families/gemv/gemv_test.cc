// The kernels for one token: whom they serve, and that each candidate can be built and covers K.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "gemv/config.h"
#include "generator/families/registry.h"
#include "generator/operations/kernel_argument.h"
#include "generator/planner/serving.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::GemvConfig;

const GemmFamily& gemv() { return *dynamic_cast<const GemmFamily*>(gemv_family()); }

GemmSpec spec_for(std::int64_t m, std::int64_t n = 896, std::int64_t k = 4864) {
  GemmSpec spec = spec_of(n, k);
  spec.shape.m_min = spec.shape.m_max = m;
  return spec;
}

std::vector<PlannedKernel> candidates(const GemmSpec& spec, const char* target) {
  const MRange m{1, spec.shape.m_max};
  const Plan plan = unplanned(spec, target_from_name(target));
  if (!gemv().exclusions(plan.spec, plan.target, m).empty()) return {};
  return gemv().candidates(plan, m);
}
std::string why_none(const GemmSpec& spec, const char* target) {
  return why_none(gemv(), unplanned(spec, target_from_name(target)), {1, spec.shape.m_max});
}

TEST(Gemv, ServesOneTokenOnEveryGpu) {
  for (const char* target : {"t4", "a100", "rtx4090", "h100", "b200", "rtx5090"}) {
    const std::vector<PlannedKernel> found = candidates(spec_for(1), target);
    EXPECT_FALSE(found.empty()) << target;
    const bool turing = std::string(target) == "t4";
    for (const PlannedKernel& one : found) {
      EXPECT_EQ(path_of(one), turing ? Path::kTuring : Path::kAmpere);
      EXPECT_EQ(one.starts_early, target_from_name(target).arch() >= 90) << target;
    }
  }
}

TEST(Gemv, SaysWhyItServesNoOther) {
  const auto expect_none = [](const GemmSpec& spec, const char* why) {
    EXPECT_TRUE(candidates(spec, "h100").empty()) << why;
    EXPECT_NE(why_none(spec, "h100").find(why), std::string::npos) << why_none(spec, "h100");
  };
  expect_none(spec_for(2), "one token");
  GemmSpec spec = spec_for(1);
  spec.path = Path::kHopper;
  expect_none(spec, "path hopper");
  spec = spec_for(1);
  spec.tile.n = 64;
  expect_none(spec, "tile");
  expect_none(spec_for(1, 896, 1 << 20), "shared memory");
}

// The path of the spec is the one of its matrix instruction.
TEST(Gemv, HasThePathsOfItsMatrixInstructions) {
  GemmSpec spec = spec_for(1);
  for (const Path path : {Path::kTuring, Path::kAmpere}) {
    spec.path = path;
    const std::vector<PlannedKernel> found = candidates(spec, "h100");
    EXPECT_FALSE(found.empty());
    for (const PlannedKernel& one : found) EXPECT_EQ(path_of(one), path);
  }
}

// Whatever the weights, there is a kernel for them.
TEST(Gemv, ServesEveryFormat) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
    for (const int group : {16, 128, kPerChannel}) {
      for (int bits = 1; bits <= 8; ++bits) {
        GemmSpec spec = spec_for(1);
        spec.weight.bits = bits;
        spec.weight.group_size = group;
        spec.weight.zero_point = zero;
        EXPECT_FALSE(candidates(spec, "t4").empty()) << bits << ' ' << group;
      }
    }
  }
  GemmSpec fp8 = spec_for(1);
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.bits = 8;
  fp8.pre_scale = true;
  EXPECT_FALSE(candidates(fp8, "t4").empty());
}

TEST(Gemv, EachCandidateCanBeBuiltAndDiffersFromTheOthers) {
  for (const char* name : {"t4", "a100", "rtx4090", "h200"}) {
    const Target target = target_from_name(name);
    for (const auto& [n, k] : {std::pair{8, 32},
                               {896, 4864},
                               {4864, 896},
                               {57344, 8192},
                               {4096, 28672},
                               {1000, 160},
                               {1 << 20, 4096}}) {
      GemmSpec spec = spec_for(1, n, k);
      spec.weight.group_size = 32;
      const std::vector<PlannedKernel> found = candidates(spec, name);
      EXPECT_FALSE(found.empty()) << n << 'x' << k << " on " << name;
      std::set<std::string> labels;
      for (const PlannedKernel& one : found) {
        const auto& c = config_of<GemvConfig>(one);
        const std::string label = gemv().label(one);
        EXPECT_TRUE(labels.insert(label).second) << label;
        EXPECT_EQ(one.threads, 32 * c.warps_k);
        EXPECT_LE(one.threads, 1024);
        EXPECT_LE(one.shared_bytes, target.shared_per_block);
        EXPECT_LE(one.blocks_per_sm * one.threads, target.threads_per_sm);
        EXPECT_GE(one.blocks_per_sm, 1);
        EXPECT_GE(c.ahead, 1);
        EXPECT_LE(c.ahead, c.warp_chunks()) << "registers that nothing comes to";
        // All chunks, and none that no block or warp has.
        EXPECT_GE(c.split_k * c.block_chunks(), c.shape.chunks);
        EXPECT_GE(c.warps_k * c.warp_chunks(), c.block_chunks());
        if (c.split_k > 1) {
          EXPECT_LE(4 * c.shape.row_blocks, kWorkspaceCounterBytes) << "a counter for each";
        }
      }
    }
  }
}

// A block for each row block and part of K; sums of parts meet in the workspace, behind the
// counters.
TEST(Gemv, ALaunchHasABlockForEachRowBlockAndPartOfK) {
  const GemmSpec spec = spec_for(1);
  const Plan plan = unplanned(spec, target_from_name("h200"));
  std::set<int> splits;
  for (const PlannedKernel& one : candidates(spec, "h200")) {
    const int split = config_of<GemvConfig>(one).split_k;
    splits.insert(split);
    const KernelLaunch launch = gemv().launch(plan, one, {1});
    EXPECT_EQ(launch.grid_x, 56U);
    EXPECT_EQ(launch.grid_z, static_cast<unsigned>(split));
    EXPECT_EQ(launch.grid_y * launch.cluster, 1U);
    const std::size_t wanted = split == 1 ? 0 : kWorkspaceCounterBytes + 56U * split * 16 * 4;
    EXPECT_EQ(gemv().workspace_bytes(plan, one, 1), wanted);
    EXPECT_EQ(gemv().max_workspace_bytes(plan, one), wanted);
  }
  EXPECT_EQ(splits, (std::set{1, 2, 3, 4}));
}

// Rows too long for the shared memory of one block are shared by several, however many rows.
TEST(Gemv, BlocksShareRowsThatAreTooLongForOne) {
  GemmSpec spec = spec_for(1, 57344, 65536);
  spec.weight.group_size = 32;
  const std::vector<PlannedKernel> found = candidates(spec, "rtx4090");
  EXPECT_FALSE(found.empty());
  for (const PlannedKernel& one : found) EXPECT_GT(config_of<GemvConfig>(one).split_k, 1);
}

// A kernel takes longer with twice the rows, and with twice the columns.
TEST(Gemv, MoreWeightsTakeLonger) {
  const auto fastest = [](std::int64_t n, std::int64_t k) {
    const Plan plan = unplanned(spec_for(1, n, k), target_from_name("h200"));
    std::vector<double> costs;
    for (const CostParameter& one : gemv().cost_parameters()) costs.push_back(one.value);
    double least = 1e9;
    for (const PlannedKernel& one : gemv().candidates(plan, {1, 1})) {
      const double us = gemv().predicted_us(plan, one, LaunchSize{1}, costs);
      EXPECT_GT(us, 0);
      least = std::min(least, us);
    }
    return least;
  };
  EXPECT_LT(fastest(4096, 4096), fastest(8192, 4096));
  EXPECT_LT(fastest(4096, 4096), fastest(4096, 8192));
}

}  // namespace
}  // namespace heddle
