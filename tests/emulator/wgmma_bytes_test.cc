// The kernels with wgmma of tokens of eight bits, run on the CPU, against FP64, and integers
// bit for bit.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/emulator/wgmma_bytes_cases.h"
#include "tests/emulator/wgmma_bytes_kernels.h"
#include "tests/emulator/wgmma_run.h"
#include "tools/gpu_harness/random_weights.h"

namespace heddle {
namespace {

WgmmaRun run_of(const WgmmaCase& test_case, WgmmaBytesKernel* kernel) {
  return {test_case,
          [kernel](const GemmProblem::Buffers& buffers, const WgmmaArguments& arguments) {
            kernel(arguments.tokens, buffers.weights, buffers.x_scales, buffers.x_zero_points,
                   buffers.y, buffers.bias, buffers.residual, arguments.workspace, arguments.shape,
                   arguments.m, arguments.shared_tiles);
          }};
}
WgmmaRun run_of_bytes(std::size_t number) {
  return run_of(wgmma_bytes_cases()[number], wgmma_bytes_kernels[number]);
}
WgmmaRun run_of_decoded(std::size_t number) {
  return run_of(wgmma_decoded_cases()[number], wgmma_decoded_kernels[number]);
}

WgmmaRun run_of_blocks(std::size_t number) {
  return {wgmma_blocks_cases()[number],
          [number](const GemmProblem::Buffers& buffers, const WgmmaArguments& arguments) {
            wgmma_blocks_kernels[number](arguments.tokens, arguments.token_scales, buffers.weights,
                                         buffers.y, buffers.bias, buffers.residual,
                                         arguments.workspace, arguments.shape, arguments.m,
                                         arguments.shared_tiles);
          }};
}

class EmulatedWgmmaBytes : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaBytes, ComputesTheProduct) { run_of_bytes(GetParam()).launch_all(); }

class EmulatedWgmmaBlocks : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaBlocks, ComputesTheProduct) { run_of_blocks(GetParam()).launch_all(); }

class EmulatedWgmmaDecoded : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedWgmmaDecoded, ComputesTheProduct) { run_of_decoded(GetParam()).launch_all(); }

// The cases whose blocks may share tiles in more ways than one.
class EmulatedWgmmaBytesShares : public EmulatedWgmmaBytes {};
TEST_P(EmulatedWgmmaBytesShares, ComputesTheProductInOtherShares) {
  run_of_bytes(GetParam()).launch_other_shares();
}

std::string case_name(const testing::TestParamInfo<std::size_t>& info) {
  return wgmma_bytes_cases()[info.param].name;
}
std::string block_case_name(const testing::TestParamInfo<std::size_t>& info) {
  return wgmma_blocks_cases()[info.param].name;
}
std::string decoded_case_name(const testing::TestParamInfo<std::size_t>& info) {
  return wgmma_decoded_cases()[info.param].name;
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBytes,
                         testing::Range<std::size_t>(0, wgmma_bytes_cases().size()), case_name);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBlocks,
                         testing::Range<std::size_t>(0, wgmma_blocks_cases().size()),
                         block_case_name);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaDecoded,
                         testing::Range<std::size_t>(0, wgmma_decoded_cases().size()),
                         decoded_case_name);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaBytesShares,
                         testing::ValuesIn(cases_that_share(wgmma_bytes_cases())), case_name);

}  // namespace
}  // namespace heddle
