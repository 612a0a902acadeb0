// Runs a repack kernel with random tensors and compares its bytes with the host's.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_

#include <cstdint>

#include "heddle/kernel.h"
#include "tools/gpu_harness/byte_check.h"
#include "tools/gpu_harness/checkpoint_tensors.h"

namespace heddle {

// In the current context, for whose device the kernel was loaded. Throws Error.
ByteCheck run_repack(const Kernel& kernel, std::uint32_t seed = 1);
ByteCheck run_repack(const Kernel& kernel, const SourceTensors& tensors);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_
