// How experts are chosen by logits: the routers whose choice is run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_CHOOSE_CASES_H_
#define HEDDLE_TESTS_EMULATOR_CHOOSE_CASES_H_

#include <string>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct ChooseCase {
  std::string name;
  MoeSpec spec;  // shape.experts, shape.top_k and the router count
};
const std::vector<ChooseCase>& choose_cases();

inline constexpr int kChooseThreads = 64;  // of a block

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_CHOOSE_CASES_H_
