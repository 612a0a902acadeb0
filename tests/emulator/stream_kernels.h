// The kernels of stream_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_KERNELS_H_

#include <vector>

namespace heddle {

using StreamKernel = void(const unsigned char* x, const unsigned char* weights, unsigned char* y,
                          const unsigned char* bias, const unsigned char* residual,
                          const unsigned char* pre_scale, unsigned char* workspace, int m);

// In the order of stream_cases().
extern const std::vector<StreamKernel*> stream_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_KERNELS_H_
