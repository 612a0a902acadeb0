// How fast the device reads.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_READ_RATE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_READ_RATE_H_

#include "tools/gpu_harness/helper_kernels.h"

namespace heddle {

// TB/s of a plain kernel that reads more than the caches hold.
double read_rate(const HelperKernels& helpers, const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_READ_RATE_H_
