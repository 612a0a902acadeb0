// Which of the policies of templates/warpgroup/store.cuh ends a tile, and that the text names it.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "generator/families/warpgroup/kernel.h"
#include "heddle/inspect/source.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

using device::TileEnd;

GemmSpec tile_of_size(GemmSpec spec, int tokens, int rows) {
  spec.shape.m_min = spec.has_byte_activations() ? 1 : 9;
  spec.shape.m_max = 4096;
  spec.path = Path::kHopper;
  spec.tile.m = tokens;
  spec.tile.n = rows;
  return spec;
}

GemmSpec with_epilogue(GemmSpec spec, const EpilogueSpec& epilogue) {
  spec.epilogue = epilogue;
  return spec;
}

TEST(WgmmaTileEnd, FollowsFromWhatOutputsNeed) {
  const EpilogueSpec bias{true, Activation::kNone, false};
  const GemmSpec half = spec_of(4096, 4096);
  const GemmSpec bytes = byte_gemm(4096, 4096, DType::kInt8);
  const GemmSpec blocks = block_gemm(4096, 4096);
  const auto groups = [](const GemmSpec& spec) { return with_groups(spec, DType::kFp8E4m3); };
  const struct {
    const char* what;
    GemmSpec spec;
    TileEnd end;
    const char* policy;
  } rows[] = {
      {"few sums", tile_of_size(half, 32, 128), TileEnd::kFloats, "WgmmaFloatEnd"},
      {"many sums", tile_of_size(half, 256, 128), TileEnd::kRounded, "WgmmaRoundedEnd"},
      {"many sums and a bias", tile_of_size(with_epilogue(half, bias), 256, 128), TileEnd::kFloats,
       "WgmmaFloatEnd"},
      {"tokens as rows", tile_of_size(blocks, 256, 128), TileEnd::kTokenRows, "WgmmaTokenRowsEnd"},
      {"groups", tile_of_size(groups(bytes), 64, 256), TileEnd::kFoundRows, "WgmmaFoundRows"},
      {"groups of tokens as rows", tile_of_size(groups(blocks), 256, 128), TileEnd::kFoundTokens,
       "WgmmaFoundTokens"},
      {"groups and a bias", tile_of_size(with_epilogue(groups(bytes), bias), 64, 256),
       TileEnd::kFoundScales, "WgmmaFoundScales"},
  };
  for (const auto& row : rows) {
    const Plan plan = plan_of(row.spec, "h100");
    const std::size_t last = plan.kernels.size() - 1;
    EXPECT_EQ(config_of<WarpgroupKernel>(plan.kernels[last]).tile_end(), row.end) << row.what;
    EXPECT_NE(render(plan, last).text.find("using End = " + std::string(row.policy) + "<Config>;"),
              std::string::npos)
        << row.what;
  }
}

}  // namespace
}  // namespace heddle
