// What is wrong with checked results, in a few words; empty if the check passed.
#ifndef HEDDLE_TOOLS_HEDDLE_FAULTS_H_
#define HEDDLE_TOOLS_HEDDLE_FAULTS_H_

#include <string>

#include "tools/gpu_harness/dequantize_check.h"
#include "tools/gpu_harness/gemm_check.h"

namespace heddle {

std::string fault_of(const GemmCheck& check);
std::string fault_of(const DequantizeCheck& check);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_FAULTS_H_
