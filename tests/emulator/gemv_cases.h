// The GEMMs for one token whose kernels are run on the CPU: small, and ragged where a kernel can
// be.
#ifndef HEDDLE_TESTS_EMULATOR_GEMV_CASES_H_
#define HEDDLE_TESTS_EMULATOR_GEMV_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct GemvCase {
  std::string name;
  GemmSpec spec;      // of one token
  std::string label;  // GemmFamily::label() of the candidate

  Plan plan() const;  // of that kernel
};

const std::vector<GemvCase>& gemv_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMV_CASES_H_
