// GEMM with wgmma: every way of decoding and scaling compiles without spills, and the assembler has
// nothing to say: it warns where it must wait for every multiplication before the next one. Needs
// NVRTC, not a GPU.
#include "tests/runtime/compile_wgmma.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/kernel_name.h"
#include "generator/planner/choose.h"
#include "generator/render/source_list.h"
#include "tests/runtime/weight_cases.h"

namespace heddle {
namespace {

// The fastest warpgroup kernel for each number of tokens that kernels are chosen for.
Plan plan_of_warpgroups(const GemmSpec& spec) {
  Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
  std::vector<PlannedKernel> kernels;
  std::int64_t first = spec.shape.m_min;
  for (const std::int64_t last : token_steps(spec.shape.m_min, spec.shape.m_max)) {
    if (auto kernel = fastest_kernel(plan, {first, last}, is_wgmma)) {
      kernel->name = kernel->family->kernel_name(plan, *kernel);
      kernels.push_back(*std::move(kernel));
    }
    first = last + 1;
  }
  plan.kernels = std::move(kernels);
  return plan;
}

GemmSpec wgmma_spec(const WeightCase& c, DType dtype, bool ragged) {
  GemmSpec spec;
  spec.shape = {ragged ? 1032 : 57344, ragged ? 1280 : 8192, ragged ? 17 : 9, 300};
  spec.activation = dtype;
  spec.weight = weight_of(c);
  spec.epilogue.bias = ragged;
  spec.epilogue.residual = ragged;
  spec.epilogue.activation = ragged ? Activation::kGelu : Activation::kNone;
  spec.path = Path::kHopper;
  return spec;
}

TEST_F(CompileWgmma, EveryWayOfDecoding) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < std::size(kWeightCases); ++i) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      const bool fp16 = dtype == DType::kFp16;
      // One of the types in turn: compile_matrix_test.cc has more of both.
      if (!every_kernel() && fp16 != (i % 2 == 0)) continue;
      const GemmSpec spec = wgmma_spec(kWeightCases[i], dtype, (i / 2 + (fp16 ? 1 : 0)) % 2 == 0);
      const Plan plan = plan_of_warpgroups(spec);
      EXPECT_EQ(plan.kernel_count(), token_steps(spec.shape.m_min, spec.shape.m_max).size());
      add_kernels(plan, i / 2, &sources);
    }
  }
  check(sources);
}

// Shards that begin inside of a group: with scales on sums a step may be one tile of 16 columns.
TEST_F(CompileWgmma, GroupsThatAnOffsetCuts) {
  std::vector<Source> sources;
  int i = 0;
  for (const auto& [group, offset] : {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}}) {
    for (const DType scale : {DType::kFp16, DType::kFp32}) {
      GemmSpec spec = wgmma_spec({4, group, ZeroPoint::kInt, scale}, DType::kFp16, i % 2 == 1);
      spec.weight.group_offset = offset;
      add_kernels(plan_of_warpgroups(spec), i++, &sources);
    }
  }
  check(sources);
}

TEST_F(CompileWgmma, EveryTile) {
  std::vector<Source> sources;
  for (const auto& [m, n] : every_tile()) {
    GemmSpec spec = wgmma_spec(kWeightCases[1], DType::kBf16, true);
    spec.tile.m = m;
    spec.tile.n = n;
    const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
    sources.push_back(render(plan, 0));
  }
  check(sources);
}

TEST_F(CompileWgmma, EveryWayOfDecodingSharedRows) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < std::size(kWeightCases); ++i) {
    for (const int m : {64, 96, 128}) {
      if (!every_kernel() && m != 64 + 32 * static_cast<int>(i % 3)) continue;  // in turn, too
      GemmSpec spec =
          wgmma_spec(kWeightCases[i], i / 2 % 2 == 0 ? DType::kFp16 : DType::kBf16, m == 64);
      spec.tile.m = m;
      spec.tile.n = 64;
      const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
      sources.push_back(render(plan, 0));
    }
  }
  check(sources);
}

// Blocks that share tokens, as members of the configuration.
TEST_F(CompileWgmma, EveryPair) {
  std::vector<Source> sources;
  for (const WeightCase& c : {kWeightCases[0], kWeightCases[1], kWeightCases[2]}) {
    for (const int m : {128, 160, 192, 256}) {
      for (const int tiles : {2, 4}) {
        // The planner's steps are short where something follows the sums.
        const bool ragged = tiles == 2;
        GemmSpec spec = wgmma_spec(c, c.scale_dtype, ragged);
        spec.tile.m = m;
        spec.tile.n = 128;
        Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
        WarpgroupKernel c = config_of_first(plan);
        wgmma_share_tokens(2, c);
        c.step_tiles = tiles;
        sources.push_back(render_with(plan, c));
      }
    }
  }
  check(sources);
}

// Stages of several chunks, of an odd number of them.
TEST_F(CompileWgmma, EveryStage) {
  std::vector<Source> sources;
  for (const int columns : {128, 256, 512}) {
    for (const int m : {16, 64}) {
      GemmSpec spec = wgmma_spec(kWeightCases[4], DType::kFp16, columns != 128);
      spec.shape.k = 1152;
      spec.tile.m = m;
      spec.tile.n = 128;
      spec.tile.k = columns;
      const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
      EXPECT_EQ(config_of_first(plan).stage_chunks, columns / 128);
      sources.push_back(render(plan, 0));
    }
  }
  check(sources);
}

// Half a chunk, with each kind of scales that meet the weights or the results; alone and in pairs.
TEST_F(CompileWgmma, EveryHalfStage) {
  std::vector<Source> sources;
  bool in_pairs = false;
  for (const WeightCase& c : kWeightCases) {
    if (c.scale_dtype == DType::kFp32 && c.group_size != kPerChannel) continue;  // meet the sums
    const bool bf16 = c.scale_dtype == DType::kBf16 || c.scale_dtype == DType::kE8m0;
    in_pairs = !in_pairs;  // pairs of 256 tokens and single blocks of 128 take turns
    for (const int m : {128, 256}) {
      if (!every_kernel() && in_pairs != (m == 256)) continue;
      GemmSpec spec = wgmma_spec(c, bf16 ? DType::kBf16 : DType::kFp16, m == 128);
      spec.tile.m = m;
      spec.tile.n = 128;
      spec.tile.k = 64;
      Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
      for (const int cluster : {1, 2}) {
        if (!every_kernel() && in_pairs != (cluster == 2)) continue;
        WarpgroupKernel c = config_of_first(plan);
        wgmma_share_tokens(cluster, c);
        sources.push_back(render_with(plan, c));
      }
    }
  }
  check(sources);
}

// What the planner may choose by a constant, as members of the configuration.
TEST_F(CompileWgmma, EveryStep) {
  std::vector<Source> sources;
  for (const int tiles : {1, 2, 4}) {
    for (const int n : {128, 256}) {
      GemmSpec spec = wgmma_spec(kWeightCases[0], DType::kFp16, n == 128);
      spec.tile.n = n;
      Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h200"));
      for (PlannedKernel& kernel : plan.kernels) {
        auto c = config_of<WarpgroupKernel>(kernel);
        c.step_tiles = tiles;
        kernel = with_config(plan, kernel, c);
      }
      for (Source& source : render_all(plan)) sources.push_back(std::move(source));
    }
  }
  check(sources);
}

}  // namespace
}  // namespace heddle
