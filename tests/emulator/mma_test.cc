// The kernels on mma.sync, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "generator/families/family.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/interleavings.h"

namespace heddle {
namespace {

class EmulatedMma : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedMma, ComputesTheProduct) {
  check_ends(mma_cases()[GetParam()].plan(), thread_of(mma_kernels[GetParam()]));
}

// What Family::most_size() promises, and kernels rely on that stand in for others: tiles that were
// chosen for few tokens compute the product of several times as many.
TEST(EmulatedMmaOfMoreTokens, ComputesTheProduct) {
  constexpr std::int64_t kFew = 32;
  int checked = 0;
  for (std::size_t i = 0; i < mma_cases().size(); ++i) {
    Plan plan = mma_cases()[i].plan();
    PlannedKernel& kernel = plan.kernels[0];
    if (kernel.size_max > kFew) continue;
    SCOPED_TRACE(mma_cases()[i].name);
    GemmSpec spec = plan.spec.gemm();
    spec.shape.m_max = 2 * kernel.size_max + 5;
    plan.spec = Spec::from_gemm(spec);
    if (kernel.family->most_size(plan, kernel) < spec.shape.m_max) continue;  // its K is split
    kernel.size_max = spec.shape.m_max;
    ASSERT_NO_FATAL_FAILURE(check_gemm(plan, GemmProblem(spec), thread_of(mma_kernels[i]),
                                       spec.shape.m_max, interleavings()));
    ++checked;
  }
  EXPECT_GE(checked, 4);
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedMma, numbers_of<mma_cases>(), name_of<mma_cases>);

}  // namespace
}  // namespace heddle
