// The kernels of wgmma_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_WGMMA_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_WGMMA_KERNELS_H_

#include <vector>

#include "steps/weight_shape.h"
#include "tests/emulator/tensor_map.h"

namespace heddle {

using WgmmaKernel = void(emulator::TensorMap tokens, const unsigned char* weights, unsigned char* y,
                         const unsigned char* bias, const unsigned char* residual,
                         unsigned char* workspace, device::WeightShape shape, int m,
                         int shared_tiles);

// In the order of wgmma_cases().
extern const std::vector<WgmmaKernel*> wgmma_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WGMMA_KERNELS_H_
