// The operations on weights whose kernels are run on the CPU: small, with row blocks in both
// orders, and ragged where a kernel can be.
#ifndef HEDDLE_TESTS_EMULATOR_WEIGHT_OP_CASES_H_
#define HEDDLE_TESTS_EMULATOR_WEIGHT_OP_CASES_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct WeightOpCase {
  std::string name;
  Spec spec;

  Plan plan() const;
};

const std::vector<WeightOpCase>& repack_cases();
const std::vector<WeightOpCase>& quantize_cases();
// Cases that read packed weights, and AWQ's and GPTQ's tensors.
const std::vector<WeightOpCase>& dequantize_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WEIGHT_OP_CASES_H_
