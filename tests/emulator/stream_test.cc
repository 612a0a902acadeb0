// The streaming GEMM's kernels, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/gemm_check.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/stream_cases.h"

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

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedStream,
                         testing::Range<std::size_t>(0, stream_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return stream_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
