// Runs repack kernels with the tensors of a checkpoint.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_PACKING_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_PACKING_H_

#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/weight_ops/checkpoint_tensors.h"

namespace heddle {

// Byte for byte against the host. In the current context, for whose device the kernel was loaded.
// Throws Error.
Check check_repack(const Kernel& kernel, const SourceTensors& tensors);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_PACKING_H_
