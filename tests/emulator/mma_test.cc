// The kernels on mma.sync, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/gemm_check.h"
#include "tests/emulator/mma_cases.h"

namespace heddle {
namespace {

// Interleavings of each M.
constexpr unsigned kMmaSeeds = 2;

class EmulatedMma : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedMma, ComputesTheProduct) {
  const Plan plan = mma_cases()[GetParam()].plan();
  const GemmSpec& spec = plan.spec.gemm();
  const GemmProblem problem(spec);
  for (const std::int64_t m : {spec.shape.m_min, spec.shape.m_max}) {
    ASSERT_NO_FATAL_FAILURE(
        check_gemm(plan, problem, thread_of(mma_kernels[GetParam()]), m, kMmaSeeds));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedMma, testing::Range<std::size_t>(0, mma_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return mma_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
