// The GEMMs fed by bulk copies that are run on the CPU: small, and ragged where a kernel can be.
#ifndef HEDDLE_TESTS_EMULATOR_BULK_CASES_H_
#define HEDDLE_TESTS_EMULATOR_BULK_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct BulkCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves

  Plan plan() const;  // of one kernel, for an H200
};

const std::vector<BulkCase>& bulk_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_BULK_CASES_H_
