// The streaming GEMM's kernels, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/interleavings.h"

namespace heddle {
namespace {

class EmulatedStream : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedStream, ComputesTheProduct) {
  const Plan plan = stream_cases()[GetParam()].plan();
  const GemmSpec& spec = plan.spec.gemm();
  const GemmProblem problem(spec);
  for (std::int64_t m = spec.shape.m_min; m <= spec.shape.m_max; ++m) {
    ASSERT_NO_FATAL_FAILURE(
        check_gemm(plan, problem, thread_of(stream_kernels[GetParam()]), m, interleavings()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedStream, numbers_of<stream_cases>(), name_of<stream_cases>);

}  // namespace
}  // namespace heddle
