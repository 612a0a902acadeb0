// The kernels of codes_cases.h, compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_CODES_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_CODES_KERNELS_H_

#include <vector>

#include "steps/weight_shape.h"
#include "tests/emulator/tensor_map.h"

namespace heddle {

using CodesOnCpu = void(const unsigned char* x, const unsigned char* weights, unsigned char* y,
                        const unsigned char* bias, const unsigned char* residual,
                        const unsigned char* pre_scale, unsigned char* workspace, int m,
                        unsigned char* y_scales);
using CodesBulkKernel = void(emulator::TensorMap tokens, const unsigned char* weights,
                             unsigned char* y, const unsigned char* bias,
                             const unsigned char* residual, unsigned char* workspace, int m,
                             unsigned char* y_scales);
using CodesByteTilesKernel = void(const unsigned char* x, const unsigned char* weights,
                                  const unsigned char* x_scales, const unsigned char* x_zero_points,
                                  unsigned char* y, const unsigned char* bias,
                                  const unsigned char* residual, unsigned char* workspace, int m,
                                  unsigned char* y_scales);
using CodesWgmmaKernel = void(emulator::TensorMap tokens, const unsigned char* weights,
                              unsigned char* y, const unsigned char* bias,
                              const unsigned char* residual, unsigned char* workspace,
                              device::WeightShape shape, int m, int shared_tiles,
                              unsigned char* y_scales);
using CodesBytesKernel = void(emulator::TensorMap tokens, const unsigned char* weights,
                              const unsigned char* x_scales, const unsigned char* x_zero_points,
                              unsigned char* y, const unsigned char* bias,
                              const unsigned char* residual, unsigned char* workspace,
                              device::WeightShape shape, int m, int shared_tiles,
                              unsigned char* y_scales);
using CodesBlocksKernel = void(emulator::TensorMap tokens, emulator::TensorMap token_scales,
                               const unsigned char* weights, unsigned char* y,
                               const unsigned char* bias, const unsigned char* residual,
                               unsigned char* workspace, device::WeightShape shape, int m,
                               int shared_tiles, unsigned char* y_scales);

// In the order of the cases.
extern const std::vector<CodesOnCpu*> codes_kernels;
extern const std::vector<CodesBulkKernel*> codes_bulk_kernels;
extern const std::vector<CodesByteTilesKernel*> codes_byte_tiles_kernels;
extern const std::vector<CodesWgmmaKernel*> codes_wgmma_kernels;
extern const std::vector<CodesBytesKernel*> codes_bytes_kernels;
extern const std::vector<CodesBlocksKernel*> codes_blocks_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_CODES_KERNELS_H_
