// Kernels whose Y has eight bits, run on the CPU: each code is that of the value in FP64, as far as
// the sums' own error lets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/case_names.h"
#include "tests/emulator/codes_cases.h"
#include "tests/emulator/codes_kernels.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/wgmma_run.h"

namespace heddle {
namespace {

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

GemmThread byte_tiles_thread(std::size_t number) {
  CodesByteTilesKernel* const kernel = codes_byte_tiles_kernels[number];
  return [kernel](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    kernel(b.x, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual, workspace, m,
           b.y_scales);
  };
}

class EmulatedByteTilesCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedByteTilesCodes, AreThoseOfTheProduct) {
  check_ends(codes_byte_tiles_cases()[GetParam()].plan(), byte_tiles_thread(GetParam()));
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

WgmmaRun bytes_run(std::size_t number) {
  CodesBytesKernel* const kernel = codes_bytes_kernels[number];
  return {codes_bytes_cases()[number],
          [kernel](const GemmProblem::Buffers& b, const WgmmaArguments& a) {
            kernel(a.tokens, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual,
                   a.workspace, a.shape, a.m, a.shared_tiles, b.y_scales);
          }};
}

class EmulatedBytesCodes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedBytesCodes, AreThoseOfTheProduct) { bytes_run(GetParam()).launch_all(); }

// Sums of INT8 are exact, so the same outputs have the same codes and the same scales, whichever
// instruction multiplied.
TEST(EmulatedGroups, OfTilesAreThoseOfWgmma) {
  for (const std::string name : {"Groups", "GroupsReluGated"}) {
    SCOPED_TRACE(name);
    const auto number_of = [&](const auto& cases) {
      return static_cast<std::size_t>(
          std::find_if(cases.begin(), cases.end(),
                       [&](const auto& one) { return one.name == name; }) -
          cases.begin());
    };
    const std::size_t wgmma = number_of(codes_bytes_cases());
    const std::size_t tiles = number_of(codes_byte_tiles_cases());
    const WgmmaRun run = bytes_run(wgmma);
    const Plan plan = codes_byte_tiles_cases()[tiles].plan();
    const GemmProblem problem(plan.spec.gemm());
    for (const std::int64_t m : codes_bytes_cases()[wgmma].tokens) {
      std::vector<std::uint8_t> expected;
      ASSERT_NO_FATAL_FAILURE(
          run.launch(m, codes_bytes_cases()[wgmma].shares(run.plan(), m), &expected));
      EXPECT_EQ(run_gemm(plan, problem, byte_tiles_thread(tiles), m, 1), expected) << "M " << m;
    }
  }
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

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedCodes, numbers_of<codes_cases>(), name_of<codes_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBulkCodes, numbers_of<codes_bulk_cases>(),
                         name_of<codes_bulk_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedByteTilesCodes, numbers_of<codes_byte_tiles_cases>(),
                         name_of<codes_byte_tiles_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaCodes, numbers_of<codes_wgmma_cases>(),
                         name_of<codes_wgmma_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBytesCodes, numbers_of<codes_bytes_cases>(),
                         name_of<codes_bytes_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedBlocksCodes, numbers_of<codes_blocks_cases>(),
                         name_of<codes_blocks_cases>);

}  // namespace
}  // namespace heddle
