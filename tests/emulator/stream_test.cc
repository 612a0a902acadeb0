// The streaming GEMM's kernels, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/gemm_launch.h"
#include "tests/emulator/gemm_problem.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/stream_cases.h"
#include "tests/emulator/stream_kernels.h"

namespace heddle {
namespace {

// Interleavings of each M.
constexpr unsigned kSeeds = 4;

class EmulatedStream : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedStream()
      : plan_(stream_cases()[GetParam()].plan()), spec_(plan_.spec.gemm()), problem_(spec_) {}

  // The bytes of Y.
  std::vector<std::uint8_t> run(std::int64_t m, unsigned seed) const {
    const GemmVariant& variant = plan_.variants[0];
    const LaunchGrid grid = gemm_blocks(plan_, variant, m).grid;
    emulator::GlobalMemory memory;
    const GemmProblem::Buffers b = problem_.allocate(memory, m);
    emulator::run(
        {static_cast<int>(grid.x), variant.cluster, variant.threads(), variant.shared_bytes, seed},
        memory, [&] {
          stream_kernels[GetParam()](b.x, b.weights, b.y, b.bias, b.residual, b.pre_scale, nullptr,
                                     static_cast<int>(m));
        });
    EXPECT_TRUE(memory.guards_intact());
    return {b.y, b.y + 2 * m * spec_.shape.n};
  }

  Plan plan_;
  GemmSpec spec_;
  GemmProblem problem_;
};

TEST_P(EmulatedStream, ComputesTheProduct) {
  for (std::int64_t m = spec_.shape.m_min; m <= spec_.shape.m_max; ++m) {
    const std::vector<std::uint8_t> y = run(m, 0);
    ASSERT_LE(problem_.errors(y.data(), m).root_mean_square, error_limit(spec_.activation))
        << "M " << m;
    // Sums are added in one order, whoever comes first.
    for (unsigned seed = 1; seed < kSeeds; ++seed) {
      ASSERT_EQ(run(m, seed), y) << "M " << m << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedStream,
                         testing::Range<std::size_t>(0, stream_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return stream_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
