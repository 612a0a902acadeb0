// The kernels of row_cases(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_ROW_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_ROW_KERNELS_H_

#include <vector>

#include "runtime/launch/row_transform_launch.h"

namespace heddle {

using RowKernel = void(RowTransformParameters parameters);

// In the order of row_cases().
extern const std::vector<RowKernel*> row_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_ROW_KERNELS_H_
