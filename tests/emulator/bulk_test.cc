// The kernels fed by bulk copies, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/bulk_kernels.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
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

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBulk, numbers_of<bulk_cases>(), name_of<bulk_cases>);

}  // namespace
}  // namespace heddle
