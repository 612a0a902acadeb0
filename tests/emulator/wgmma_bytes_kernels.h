// The kernels of wgmma_bytes_cases.h, compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_KERNELS_H_

#include <vector>

#include "steps/weight_shape.h"
#include "tests/emulator/tensor_map.h"

namespace heddle {

// For blocks: instead of x_scales and x_zero_points a map.
using WgmmaBlocksKernel = void(emulator::TensorMap tokens, emulator::TensorMap token_scales,
                               const unsigned char* weights, unsigned char* y,
                               const unsigned char* bias, const unsigned char* residual,
                               unsigned char* workspace, device::WeightShape shape, int m,
                               int shared_tiles);
using WgmmaBytesKernel = void(emulator::TensorMap tokens, const unsigned char* weights,
                              const unsigned char* x_scales, const unsigned char* x_zero_points,
                              unsigned char* y, const unsigned char* bias,
                              const unsigned char* residual, unsigned char* workspace,
                              device::WeightShape shape, int m, int shared_tiles);

// In the order of wgmma_bytes_cases().
extern const std::vector<WgmmaBytesKernel*> wgmma_bytes_kernels;
// In the order of wgmma_blocks_cases().
extern const std::vector<WgmmaBlocksKernel*> wgmma_blocks_kernels;
// In the order of wgmma_decoded_cases().
extern const std::vector<WgmmaBytesKernel*> wgmma_decoded_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_KERNELS_H_
