// The layers of experts whose kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_MOE_CASES_H_
#define HEDDLE_TESTS_EMULATOR_MOE_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct MoeCase {
  std::string name;
  MoeSpec spec;  // with the most tokens that its one kernel is chosen for

  bool by_wgmma = false;
  // Where tiles are of a certain size: it, as the beginning of the kernel's label, and the tokens
  // of each expert, of which every token chooses one.
  std::string tile = {};
  std::vector<int> expert_tokens = {};

  // With three SMs, so that blocks take several tiles, by the family that the case asks for; its
  // one kernel serves any number of tokens up to the most.
  Plan plan() const;
};

// With kernels of mma.sync, and of wgmma; all of them.
const std::vector<MoeCase>& moe_cases();
const std::vector<MoeCase>& moe_wgmma_cases();
const std::vector<MoeCase>& all_moe_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_CASES_H_
