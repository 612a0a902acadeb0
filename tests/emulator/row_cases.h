// The row transforms whose kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ROW_CASES_H_
#define HEDDLE_TESTS_EMULATOR_ROW_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct RowCase {
  std::string name;
  Spec spec;
  bool many;  // rows: the kernel for many, else that for few

  // For an H200 with two SMs, so that blocks take several rows; its one kernel serves any M.
  Plan plan() const;
};

const std::vector<RowCase>& row_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ROW_CASES_H_
