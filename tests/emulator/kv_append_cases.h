// The appends whose kernels are run on the CPU: scales per channel, and what synchronises
// otherwise.
#ifndef HEDDLE_TESTS_EMULATOR_KV_APPEND_CASES_H_
#define HEDDLE_TESTS_EMULATOR_KV_APPEND_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct KvAppendCase {
  std::string name;
  Spec spec;

  Plan plan() const;
};

const std::vector<KvAppendCase>& kv_append_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_KV_APPEND_CASES_H_
