// The kernels of moe_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_

#include <vector>

#include "runtime/launch/moe_launch.h"

namespace heddle {

using MoeOnCpu = void(MoeParameters parameters, int schedule);

// In the order of moe_cases().
extern const std::vector<MoeOnCpu*> moe_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_
