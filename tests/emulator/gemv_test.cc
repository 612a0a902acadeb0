// The kernels for one token, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/gemm_check.h"
#include "tests/emulator/gemv_cases.h"
#include "tests/emulator/gemv_kernels.h"
#include "tests/emulator/interleavings.h"

namespace heddle {
namespace {

class EmulatedGemv : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedGemv, ComputesTheProduct) {
  const Plan plan = gemv_cases()[GetParam()].plan();
  const GemmProblem problem(plan.spec.gemm());
  check_gemm(plan, problem, thread_of(gemv_kernels[GetParam()]), 1, interleavings());
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedGemv, testing::Range<std::size_t>(0, gemv_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return gemv_cases()[info.param].name;
                         });

}  // namespace
}  // namespace heddle
