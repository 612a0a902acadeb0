// The kernels for one token, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/gemm_check.h"
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

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedGemv, numbers_of<gemv_cases>(), name_of<gemv_cases>);

}  // namespace
}  // namespace heddle
