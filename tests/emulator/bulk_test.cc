// The kernels fed by bulk copies, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/bulk_cases.h"
#include "tests/emulator/bulk_kernels.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/interleavings.h"

namespace heddle {
namespace {

class EmulatedBulk : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedBulk, ComputesTheProduct) {
  const Plan plan = bulk_cases()[GetParam()].plan();
  const GemmSpec& spec = plan.spec.gemm();
  const GemmProblem problem(spec);
  const auto thread = [&](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    bulk_kernels[GetParam()]({b.x, m, static_cast<int>(spec.shape.k), m}, b.weights, b.y, b.bias,
                             b.residual, workspace, m);
  };
  for (std::int64_t m = spec.shape.m_min; m <= spec.shape.m_max; ++m) {
    ASSERT_NO_FATAL_FAILURE(check_gemm(plan, problem, thread, m, interleavings()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBulk, testing::Range<std::size_t>(0, bulk_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return bulk_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
