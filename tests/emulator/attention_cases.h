// The attention whose kernels are run on the CPU: few heads and every kind of cache.
#ifndef HEDDLE_TESTS_EMULATOR_ATTENTION_CASES_H_
#define HEDDLE_TESTS_EMULATOR_ATTENTION_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct AttentionCase {
  std::string name;
  Spec spec;
  int sm_count = 3;           // few, so that a block has several items
  std::int32_t shared = 450;  // tokens of a sequence that all blocks share
  bool wide = false;          // its blocks have more than four warps

  // With this kernel alone.
  Plan plan() const;
};

const std::vector<AttentionCase>& attention_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ATTENTION_CASES_H_
