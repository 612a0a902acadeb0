// A case of a kernel with wgmma, run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_WGMMA_RUN_H_
#define HEDDLE_TESTS_EMULATOR_WGMMA_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "generator/families/warpgroup/kernel.h"
#include "tests/emulator/gemm_problem.h"
#include "tests/emulator/tensor_map.h"
#include "tests/emulator/wgmma_bytes_kernels.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {

// What a thread of the kernel is called with beside the problem's memory.
struct WgmmaArguments {
  emulator::TensorMap tokens;
  emulator::TensorMap token_scales;  // of groups
  std::uint8_t* workspace;
  device::WeightShape shape;
  int m;
  int shared_tiles;
};

using WgmmaThread = std::function<void(const GemmProblem::Buffers&, const WgmmaArguments&)>;

class WgmmaRun {
 public:
  WgmmaRun(const WgmmaCase& test_case, WgmmaThread thread);

  const Plan& plan() const { return plan_; }
  const WarpgroupKernel& config() const;
  int tiles(std::int64_t m) const;

  // M tokens in several interleavings, against FP64, with the same bits each time. Fatal failures
  // of GoogleTest. GemmProblem::written() to `y` if that is given.
  void launch(std::int64_t m, const WgmmaShares& shares,
              std::vector<std::uint8_t>* y = nullptr) const;
  // Each M of the case, and that the last of them shares tiles as the case says.
  void launch_all() const;
  // What the planner would choose for other GPUs, where blocks may share tiles in more ways than
  // one.
  void launch_other_shares() const;

 private:
  Sharing sharing_of(std::int64_t m, const WgmmaShares& shares) const;

  const WgmmaCase& case_;
  Plan plan_;
  GemmProblem problem_;
  WgmmaThread thread_;
};

// Of a kernel whose tokens have eight bits and no blocks.
WgmmaRun wgmma_bytes_run(const WgmmaCase& test_case, WgmmaBytesKernel* kernel);

// Those of the cases that launch_other_shares() is for.
std::vector<std::size_t> cases_that_share(const std::vector<WgmmaCase>& cases);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WGMMA_RUN_H_
