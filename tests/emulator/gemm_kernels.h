// The kernels of stream_cases() and of mma_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_GEMM_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_GEMM_KERNELS_H_

#include <vector>

namespace heddle {

using GemmOnCpu = void(const unsigned char* x, const unsigned char* weights, unsigned char* y,
                       const unsigned char* bias, const unsigned char* residual,
                       const unsigned char* pre_scale, unsigned char* workspace, int m);

// In the order of the cases.
extern const std::vector<GemmOnCpu*> stream_kernels;
extern const std::vector<GemmOnCpu*> mma_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMM_KERNELS_H_
