// The kernels on mma.sync of two operands of eight bits, run on the CPU, against FP64 and, of
// INT8, against those with wgmma.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/emulator/byte_tiles_kernels.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_run.h"

namespace heddle {
namespace {

GemmThread thread_of_case(std::size_t number) {
  return [number](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    byte_tiles_kernels[number](b.x, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual,
                               workspace, m);
  };
}

class EmulatedByteTiles : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedByteTiles, ComputesTheProduct) {
  check_ends(byte_tiles_cases()[GetParam()].plan(), thread_of_case(GetParam()));
}

// Integers are added exactly and scaled in the same order, whichever instruction multiplies them.
TEST(EmulatedByteTilesAsWgmma, HaveTheSameBits) {
  int compared = 0;
  for (std::size_t number = 0; number < byte_tiles_cases().size(); ++number) {
    const ByteTilesCase& one = byte_tiles_cases()[number];
    if (!one.as_wgmma) continue;
    SCOPED_TRACE(one.name);
    const WgmmaCase& wgmma = wgmma_bytes_cases()[*one.as_wgmma];
    const WgmmaRun run = wgmma_bytes_run(wgmma, wgmma_bytes_kernels[*one.as_wgmma]);
    const std::int64_t m = wgmma.tokens.back();
    std::vector<std::uint8_t> expected;
    ASSERT_NO_FATAL_FAILURE(run.launch(m, wgmma.shares(run.plan(), m), &expected));
    const Plan plan = one.plan();
    const GemmProblem problem(plan.spec.gemm());
    EXPECT_EQ(run_gemm(plan, problem, thread_of_case(number), m, 1), expected);
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedByteTiles, numbers_of<byte_tiles_cases>(),
                         name_of<byte_tiles_cases>);

}  // namespace
}  // namespace heddle
