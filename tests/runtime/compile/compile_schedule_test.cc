// A schedule that no family uses yet compiles for every kind of GPU: a small kernel that writes its
// pieces. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "generator/render/template_text.h"
#include "heddle/error.h"
#include "runtime/compile/nvrtc.h"

namespace heddle {
namespace {

constexpr const char* kWritePieces = R"(
#include "primitives/dependent_launch.cuh"
#include "schedule/grouped_tiles.cuh"

namespace heddle {

struct GroupsShape {
  static constexpr int kGroups = HEDDLE_GROUPS;
  static constexpr int kTileTokens = 16;
  static constexpr int kTileRowTiles = 2;
  static constexpr int kRowSets = 14;
  static constexpr int kBandTokens = 2048;
  static constexpr int kTotalUnits = 32;
};

}  // namespace heddle

extern "C" __global__ void __launch_bounds__(128) write_pieces(const int* first_tokens,
                                                               heddle::GroupedPiece* pieces) {
  heddle::wait_for_predecessor();
  heddle::GroupedTiles<heddle::GroupsShape> schedule(first_tokens);
  heddle::GroupedPiece piece;
  for (unsigned i = blockIdx.x; schedule.next(piece); i += gridDim.x) {
    if (threadIdx.x == 0) pieces[i] = piece;
  }
}
)";

Source schedule_source(const std::string& arch, int groups) {
  Source source;
  source.kernel_name = "write_pieces";
  source.file_name = "write_pieces.cu";
  source.text =
      "#define HEDDLE_GROUPS " + std::to_string(groups) + "\n" + expand_includes(kWritePieces);
  source.arch = arch;
  source.threads = 128;
  return source;
}

class CompileSchedule : public testing::TestWithParam<int> {};

TEST_P(CompileSchedule, OfGroups) {
  Nvrtc nvrtc;
  try {
    const std::vector<int> archs = nvrtc.archs();
    if (std::find(archs.begin(), archs.end(), GetParam()) == archs.end()) {
      GTEST_SKIP() << "this NVRTC lacks sm_" << GetParam();
    }
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const std::string arch = "sm_" + std::to_string(GetParam()) + (GetParam() >= 90 ? "a" : "");
  for (const int groups : {8, 128, 512}) {
    std::string warnings;
    const Binary binary = nvrtc.compile(schedule_source(arch, groups), &warnings);
    EXPECT_EQ(warnings, "") << groups;
    EXPECT_FALSE(binary.cubin.empty()) << groups;
    EXPECT_EQ(binary.spill_bytes, 0) << groups;
    EXPECT_EQ(binary.local_bytes, 0) << groups;
    EXPECT_EQ(binary.ptx.str().find("atom."), std::string::npos)
        << "the order of arrival plays a part";
    EXPECT_EQ(binary.ptx.str().find("ld.global.nc"), std::string::npos)
        << "counts may have been cached";
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileSchedule, testing::Values(80, 90, 120),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
