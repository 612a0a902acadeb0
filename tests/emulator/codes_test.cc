// Kernels whose Y has eight bits, run on the CPU: each code is that of the value in FP64, as far as
// the sums' own error lets it.
#include <gtest/gtest.h>

#include "tests/emulator/codes_cases.h"
#include "tests/emulator/codes_kernels.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/wgmma_run.h"

namespace heddle {
namespace {

// Interleavings of each M.
constexpr unsigned kCodesSeeds = 2;

void check_ends(const Plan& plan, const GemmThread& thread) {
  const GemmSpec& spec = plan.spec.gemm();
  const GemmProblem problem(spec);
  check_gemm(plan, problem, thread, spec.shape.m_min, kCodesSeeds);
  if (spec.shape.m_max == spec.shape.m_min) return;
  check_gemm(plan, problem, thread, spec.shape.m_max, kCodesSeeds);
}

template <class Cases>
auto numbers(const Cases& cases) {
  return testing::Range<std::size_t>(0, cases.size());
}

class EmulatedCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedCodes, AreThoseOfTheProduct) {
  CodesOnCpu* const kernel = codes_kernels[GetParam()];
  check_ends(codes_cases()[GetParam()].plan(), [kernel](const GemmProblem::Buffers& b,
                                                        std::uint8_t* workspace, int m) {
    kernel(b.x, b.weights, b.y, b.bias, b.residual, b.pre_scale, workspace, m, b.y_scales);
  });
}

class EmulatedBulkCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedBulkCodes, AreThoseOfTheProduct) {
  CodesBulkKernel* const kernel = codes_bulk_kernels[GetParam()];
  const Plan plan = codes_bulk_cases()[GetParam()].plan();
  const auto k = static_cast<int>(plan.spec.gemm().shape.k);
  check_ends(plan, [kernel, k](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    kernel({b.x, m, k, m}, b.weights, b.y, b.bias, b.residual, workspace, m, b.y_scales);
  });
}

class EmulatedWgmmaCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaCodes, AreThoseOfTheProduct) {
  CodesWgmmaKernel* const kernel = codes_wgmma_kernels[GetParam()];
  WgmmaRun(codes_wgmma_cases()[GetParam()], [kernel](const GemmProblem::Buffers& b,
                                                     const WgmmaArguments& a) {
    kernel(a.tokens, b.weights, b.y, b.bias, b.residual, a.workspace, a.shape, a.m, a.shared_tiles,
           b.y_scales);
  }).launch_all();
}

class EmulatedBytesCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedBytesCodes, AreThoseOfTheProduct) {
  CodesBytesKernel* const kernel = codes_bytes_kernels[GetParam()];
  WgmmaRun(codes_bytes_cases()[GetParam()], [kernel](const GemmProblem::Buffers& b,
                                                     const WgmmaArguments& a) {
    kernel(a.tokens, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual, a.workspace,
           a.shape, a.m, a.shared_tiles, b.y_scales);
  }).launch_all();
}

class EmulatedBlocksCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedBlocksCodes, AreThoseOfTheProduct) {
  CodesBlocksKernel* const kernel = codes_blocks_kernels[GetParam()];
  WgmmaRun(codes_blocks_cases()[GetParam()], [kernel](const GemmProblem::Buffers& b,
                                                      const WgmmaArguments& a) {
    kernel(a.tokens, a.token_scales, b.weights, b.y, b.bias, b.residual, a.workspace, a.shape, a.m,
           a.shared_tiles, b.y_scales);
  }).launch_all();
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedCodes, numbers(codes_cases()),
                         [](const auto& info) { return codes_cases()[info.param].name; });
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBulkCodes, numbers(codes_bulk_cases()),
                         [](const auto& info) { return codes_bulk_cases()[info.param].name; });
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaCodes, numbers(codes_wgmma_cases()),
                         [](const auto& info) { return codes_wgmma_cases()[info.param].name; });
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBytesCodes, numbers(codes_bytes_cases()),
                         [](const auto& info) { return codes_bytes_cases()[info.param].name; });
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBlocksCodes, numbers(codes_blocks_cases()),
                         [](const auto& info) { return codes_blocks_cases()[info.param].name; });

}  // namespace
}  // namespace heddle
