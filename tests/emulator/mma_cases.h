// The GEMMs whose kernels on mma.sync are run on the CPU: small, and ragged where a kernel can be.
// Those with a tile of their own read ahead (tiles/multiply_wide.cuh), the others do not.
#ifndef HEDDLE_TESTS_EMULATOR_MMA_CASES_H_
#define HEDDLE_TESTS_EMULATOR_MMA_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct MmaCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves
  int sm_count = 132;

  Plan plan() const;  // of one kernel
};

const std::vector<MmaCase>& mma_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MMA_CASES_H_
