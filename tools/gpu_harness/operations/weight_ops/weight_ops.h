// Runs kernels of operations on weights with the tensors of a checkpoint.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_

#include <cstdint>
#include <vector>

#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/weight_ops/checkpoint_tensors.h"

namespace heddle {

// Byte for byte against the host. In the current context, for whose device the kernel was loaded.
// Throws Error.
Check check_repack(const Kernel& kernel, const SourceTensors& tensors);

// Launches on the tensors, with W full of poison and between guard bands, and compares bits. In the
// current context, for whose device the kernel was loaded. Throws Error.
Check check_dequantize(const Kernel& kernel, const SourceTensors& source,
                       const std::vector<std::uint16_t>& expected);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_
