// A layer of experts, run on the CPU: its launches, one after the other.
#ifndef HEDDLE_TESTS_EMULATOR_MOE_RUN_H_
#define HEDDLE_TESTS_EMULATOR_MOE_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "heddle/inspect/plan.h"
#include "runtime/launch/moe_launch.h"
#include "tests/emulator/global_memory.h"
#include "tests/emulator/moe_kernels.h"
#include "tests/emulator/moe_problem.h"

namespace heddle {

// What a thread of a launch with so many tokens does.
using MoeThread =
    std::function<void(std::int64_t tokens, const MoeParameters& parameters, int schedule)>;
MoeThread thread_of(MoeOnCpu* kernel);
// Of a plan with wgmma, which outlives it.
MoeThread thread_of(const Plan& plan, MoeByWgmmaOnCpu* kernel);

// Which other matrix Y is.
enum class YIs { kItself, kX, kResidual };

class MoeRun {
 public:
  // All outlive it. The plan has one kernel.
  MoeRun(const Plan& plan, const EmulatedMoe& problem, MoeThread thread);

  // Y of the choices' tokens, the first one of which is `first` of the problem's. A layer that
  // chooses experts by logits keeps its choice to itself, but with seeds other than 1. Failures are
  // GoogleTest's.
  std::vector<std::uint16_t> run(const EmulatedChoices& choices, unsigned seed,
                                 std::int64_t first = 0, YIs y_is = YIs::kItself) const;

 private:
  void settle(const MoeParameters& parameters, emulator::GlobalMemory& memory) const;
  void launch(const MoeArgs& args, unsigned seed, emulator::GlobalMemory& memory) const;

  const Plan& plan_;
  const MoeSpec& spec_;
  const EmulatedMoe& problem_;
  MoeThread thread_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_RUN_H_
