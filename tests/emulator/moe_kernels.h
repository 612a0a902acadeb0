// The kernels of moe_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_

#include <vector>

#include "runtime/launch/moe_launch.h"
#include "tests/emulator/tensor_map.h"

namespace heddle {

using MoeOnCpu = void(MoeParameters parameters, int schedule);

// In the order of moe_cases().
extern const std::vector<MoeOnCpu*> moe_kernels;

using MoeByWgmmaOnCpu = void(emulator::TensorMap tokens, MoeParameters parameters, int schedule);

// In the order of moe_wgmma_cases().
extern const std::vector<MoeByWgmmaOnCpu*> moe_wgmma_kernels;

// In the order of moe_few_cases().
extern const std::vector<MoeOnCpu*> moe_few_kernels;

// In the order of moe_stream_cases().
extern const std::vector<MoeOnCpu*> moe_stream_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_KERNELS_H_
