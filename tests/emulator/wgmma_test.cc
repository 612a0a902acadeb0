// The kernels with wgmma that decode weights, run on the CPU, against FP64.
#include <gtest/gtest.h>

#include "tests/emulator/case_names.h"
#include "tests/emulator/wgmma_cases.h"
#include "tests/emulator/wgmma_kernels.h"
#include "tests/emulator/wgmma_run.h"

namespace heddle {
namespace {

WgmmaRun run_of(std::size_t number) {
  return {wgmma_cases()[number],
          [number](const GemmProblem::Buffers& buffers, const WgmmaArguments& arguments) {
            wgmma_kernels[number](arguments.tokens, buffers.weights, buffers.y, buffers.bias,
                                  buffers.residual, arguments.workspace, arguments.shape,
                                  arguments.m, arguments.shared_tiles);
          }};
}

class EmulatedWgmma : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedWgmma, ComputesTheProduct) { run_of(GetParam()).launch_all(); }

// The cases whose blocks may share tiles in more ways than one.
class EmulatedWgmmaShares : public EmulatedWgmma {};

TEST_P(EmulatedWgmmaShares, ComputesTheProductInOtherShares) {
  run_of(GetParam()).launch_other_shares();
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmma, numbers_of<wgmma_cases>(), name_of<wgmma_cases>);
INSTANTIATE_TEST_SUITE_P(Cases, EmulatedWgmmaShares,
                         testing::ValuesIn(cases_that_share(wgmma_cases())), name_of<wgmma_cases>);

}  // namespace
}  // namespace heddle
