// The streaming kernels of tokens of eight bits and weights of four, run on the CPU, against FP64
// and, where sums are exact, against those with wgmma.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/stream_bytes_kernels.h"
#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_run.h"

namespace heddle {
namespace {

GemmThread thread_of_case(std::size_t number) {
  return [number](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    stream_bytes_kernels[number](b.x, b.weights, b.x_scales, b.y, b.bias, b.residual, workspace, m);
  };
}

class EmulatedStreamBytes : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedStreamBytes, ComputesTheProduct) {
  check_ends(stream_bytes_cases()[GetParam()].plan(), thread_of_case(GetParam()));
}

// Integers of all of K are added exactly and scaled in the same order, whichever instruction
// multiplies them.
TEST(EmulatedStreamBytesAsWgmma, HaveTheSameBits) {
  int compared = 0;
  for (std::size_t number = 0; number < stream_bytes_cases().size(); ++number) {
    const StreamBytesCase& one = stream_bytes_cases()[number];
    if (!one.as_wgmma) continue;
    SCOPED_TRACE(one.name);
    const WgmmaCase& wgmma = wgmma_decoded_cases()[*one.as_wgmma];
    const WgmmaRun run = wgmma_bytes_run(wgmma, wgmma_decoded_kernels[*one.as_wgmma]);
    const std::int64_t m = one.spec.shape.m_max;
    std::vector<std::uint8_t> expected;
    ASSERT_NO_FATAL_FAILURE(run.launch(m, wgmma.shares(run.plan(), m), &expected));
    const Plan plan = one.plan();
    GemmSpec spec = plan.spec.gemm();
    spec.shape.m_max = wgmma.spec.shape.m_max;  // the same random data
    const GemmProblem problem(spec);
    EXPECT_EQ(run_gemm(plan, problem, thread_of_case(number), m, 1), expected);
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedStreamBytes, numbers_of<stream_bytes_cases>(),
                         name_of<stream_bytes_cases>);

}  // namespace
}  // namespace heddle
