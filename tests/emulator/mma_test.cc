// The kernels on mma.sync, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/gemm_launch.h"
#include "tests/emulator/device.h"
#include "tests/emulator/gemm_problem.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/mma_cases.h"
#include "tests/emulator/mma_kernels.h"

namespace heddle {
namespace {

using emulator::Access;

// Interleavings of each M.
constexpr unsigned kSeeds = 2;

class EmulatedMma : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedMma()
      : plan_(mma_cases()[GetParam()].plan()), spec_(plan_.spec.gemm()), problem_(spec_) {}

  // The bytes of Y.
  std::vector<std::uint8_t> run(std::int64_t m, unsigned seed) const {
    const GemmVariant& variant = plan_.variants[0];
    const LaunchGrid grid = gemm_blocks(plan_, variant, m).grid;
    emulator::GlobalMemory memory;
    const GemmProblem::Buffers b = problem_.allocate(memory, m);
    const std::vector<std::uint8_t> zeros(plan_.workspace_bytes(m));
    std::uint8_t* workspace =
        zeros.empty() ? nullptr : memory.allocate(zeros.data(), zeros.size(), Access::kWrite);
    emulator::Launch launch{static_cast<int>(grid.x * grid.y * grid.z), 1, variant.threads(),
                            variant.shared_bytes, seed};
    launch.grid_x = static_cast<int>(grid.x);
    launch.grid_y = static_cast<int>(grid.y);
    launch.together = variant.split_k > 1;
    emulator::run(launch, memory, [&] {
      emulator::predecessor_has_ended();  // the launch waits for it
      mma_kernels[GetParam()](b.x, b.weights, b.y, b.bias, b.residual, b.pre_scale, workspace,
                              static_cast<int>(m));
    });
    EXPECT_TRUE(memory.guards_intact());
    return {b.y, b.y + 2 * m * spec_.shape.n};
  }

  Plan plan_;
  GemmSpec spec_;
  GemmProblem problem_;
};

TEST_P(EmulatedMma, ComputesTheProduct) {
  for (const std::int64_t m : {spec_.shape.m_min, spec_.shape.m_max}) {
    const std::vector<std::uint8_t> y = run(m, 0);
    ASSERT_LE(problem_.errors(y.data(), m).root_mean_square, error_limit(spec_.activation))
        << "M " << m;
    for (unsigned seed = 1; seed < kSeeds; ++seed) {
      ASSERT_EQ(run(m, seed), y) << "M " << m << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedMma, testing::Range<std::size_t>(0, mma_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return mma_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
