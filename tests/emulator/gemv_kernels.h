// The kernels of gemv_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_GEMV_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_GEMV_KERNELS_H_

#include "tests/emulator/gemm_kernels.h"

namespace heddle {

// In the order of the cases.
extern const std::vector<GemmOnCpu*> gemv_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMV_KERNELS_H_
