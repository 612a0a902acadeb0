// The choice of experts of choose_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_CHOOSE_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_CHOOSE_KERNELS_H_

#include <vector>

#include "runtime/launch/moe_launch.h"

namespace heddle {

using ChooseOnCpu = void(MoeParameters parameters);

// In the order of choose_cases().
extern const std::vector<ChooseOnCpu*> choose_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_CHOOSE_KERNELS_H_
