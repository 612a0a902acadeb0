// The kernels of byte_tiles_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_BYTE_TILES_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_BYTE_TILES_KERNELS_H_

#include <vector>

namespace heddle {

using ByteTilesOnCpu = void(const unsigned char* x, const unsigned char* weights,
                            const unsigned char* x_scales, const unsigned char* x_zero_points,
                            unsigned char* y, const unsigned char* bias,
                            const unsigned char* residual, unsigned char* workspace, int m);

// In the order of the cases.
extern const std::vector<ByteTilesOnCpu*> byte_tiles_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_BYTE_TILES_KERNELS_H_
