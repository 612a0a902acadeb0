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

  std::string family = "experts";
  std::string label_part{};  // of the candidate
  int sm_count = 3;
  std::vector<int> expert_tokens{};  // of each expert; every token chooses one

  // With few SMs, so that blocks take several tiles, by the family that the case asks for, which
  // may have several candidates; its one kernel serves any number of tokens up to the most.
  Plan plan() const;
};

// With kernels of mma.sync, of wgmma, for few tokens, and by streams; all of them, in this order.
const std::vector<MoeCase>& moe_cases();
const std::vector<MoeCase>& moe_wgmma_cases();
const std::vector<MoeCase>& moe_few_cases();
const std::vector<MoeCase>& moe_stream_cases();
const std::vector<MoeCase>& all_moe_cases();

// Those of moe_cases() that a family serves, with other names.
std::vector<MoeCase> moe_cases_of(const std::string& family, const std::string& suffix);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_CASES_H_
