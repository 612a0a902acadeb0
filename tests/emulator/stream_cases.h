// The GEMMs whose streaming kernels are run on the CPU: small, and ragged where a kernel can be.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_CASES_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct StreamCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves
  int sm_count;   // few, so that a block has several row blocks

  Plan plan() const;  // of one kernel, a stream
};

const std::vector<StreamCase>& stream_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_CASES_H_
