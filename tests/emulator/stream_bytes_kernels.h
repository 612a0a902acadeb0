// The kernels of stream_bytes_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_BYTES_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_BYTES_KERNELS_H_

#include <vector>

namespace heddle {

using StreamBytesOnCpu = void(const unsigned char* x, const unsigned char* weights,
                              const unsigned char* x_scales, unsigned char* y,
                              const unsigned char* bias, const unsigned char* residual,
                              unsigned char* workspace, int m);

// In the order of the cases.
extern const std::vector<StreamBytesOnCpu*> stream_bytes_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_BYTES_KERNELS_H_
