// The kernels with wgmma, run on the CPU, against FP64.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "generator/plan/wgmma.h"
#include "heddle/kernel.h"
#include "runtime/gemm_launch.h"
#include "tests/emulator/gemm_problem.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/wgmma_cases.h"
#include "tests/emulator/wgmma_kernels.h"

namespace heddle {
namespace {

using emulator::Access;

// Interleavings of each M, all with one workspace.
constexpr unsigned kSeeds = 3;

// Rounding the output alone gives about 2e-4 in FP16 and 1.7e-3 in BF16; rounding the scaled weight
// as well up to 1.5 times that. The largest of a hundred thousand errors is some ten times that.
double error_limit(DType type) { return type == DType::kFp16 ? 5e-4 : 4e-3; }
constexpr double kMostLimit = 10;

Sharing sharing_of(const GemmBlocks& blocks, const GemmVariant& variant, std::int64_t m,
                   const GemmSpec& spec) {
  const auto count = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t tiles = count(m, variant.tile_m) * count(spec.shape.n, variant.tile_n);
  if (blocks.shared_tiles == 0) return Sharing::kNone;
  if (blocks.grid.cluster > 1) return Sharing::kClusters;
  const bool all = blocks.shared_tiles == tiles && blocks.grid.x % tiles == 0;
  return all ? Sharing::kEqualParts : Sharing::kEqualShares;
}

class EmulatedWgmma : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedWgmma()
      : case_(wgmma_cases()[GetParam()]), plan_(case_.plan()), problem_(plan_.spec.gemm()) {}

  // All launches that the case asks for with M tokens.
  void launch(std::int64_t m) const {
    const GemmSpec& spec = plan_.spec.gemm();
    const GemmVariant& variant = plan_.variants[0];
    const GemmBlocks blocks = gemm_blocks(plan_, variant, m);
    emulator::GlobalMemory memory;
    const GemmProblem::Buffers buffers = problem_.allocate(memory, m);
    const std::size_t workspace_bytes = plan_.workspace_bytes(m);
    std::uint8_t* workspace = nullptr;
    if (workspace_bytes > 0) {
      workspace = memory.allocate(workspace_bytes, Access::kWrite);
      std::memset(workspace, 0, kWorkspaceCounterBytes);
    }
    const auto y_bytes = static_cast<std::size_t>(2 * m * spec.shape.n);
    std::vector<std::uint8_t> first;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(fmt::format("M {}, seed {}", m, seed));
      std::fill(buffers.y, buffers.y + y_bytes, std::uint8_t{0xff});
      emulator::run({static_cast<int>(blocks.grid.x), static_cast<int>(blocks.grid.cluster),
                     variant.threads(), variant.shared_bytes, true, seed},
                    memory, [&] {
                      wgmma_kernels[GetParam()](
                          {buffers.x, static_cast<int>(m), static_cast<int>(spec.shape.k),
                           variant.tile_m},
                          buffers.weights, buffers.y, buffers.bias, buffers.residual, workspace,
                          static_cast<int>(m), blocks.shared_tiles);
                    });
      ASSERT_TRUE(memory.guards_intact());
      if (first.empty()) {
        first.assign(buffers.y, buffers.y + y_bytes);
        const Errors errors = problem_.errors(buffers.y, m);
        ASSERT_LE(errors.root_mean_square, error_limit(spec.activation));
        ASSERT_LE(errors.most, kMostLimit * error_limit(spec.activation));
      }
      ASSERT_TRUE(std::equal(first.begin(), first.end(), buffers.y)) << "other bits";
      if (workspace == nullptr) continue;
      ASSERT_TRUE(std::all_of(workspace, workspace + kWorkspaceCounterBytes,
                              [](std::uint8_t byte) { return byte == 0; }))
          << "counters that are not zero";
    }
  }

  const WgmmaCase& case_;
  Plan plan_;
  GemmProblem problem_;
};

TEST_P(EmulatedWgmma, ComputesTheProduct) {
  const GemmVariant& variant = plan_.variants[0];
  const std::int64_t most = case_.tokens.back();
  ASSERT_EQ(sharing_of(gemm_blocks(plan_, variant, most), variant, most, plan_.spec.gemm()),
            case_.sharing);
  for (const std::int64_t m : case_.tokens) {
    ASSERT_NO_FATAL_FAILURE(launch(m));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmma,
                         testing::Range<std::size_t>(0, wgmma_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return wgmma_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
