// The kernels of bulk_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_BULK_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_BULK_KERNELS_H_

#include <vector>

#include "tests/emulator/tensor_map.h"

namespace heddle {

using BulkKernel = void(emulator::TensorMap tokens, const unsigned char* weights, unsigned char* y,
                        const unsigned char* bias, const unsigned char* residual,
                        unsigned char* workspace, int m);

// In the order of bulk_cases().
extern const std::vector<BulkKernel*> bulk_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_BULK_KERNELS_H_
