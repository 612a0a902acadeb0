// Runs a repack kernel with random tensors and compares its bytes with the host's.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_

#include <cstdint>

#include "heddle/kernel.h"
#include "tools/gpu_harness/byte_check.h"
#include "tools/gpu_harness/checkpoint_tensors.h"

namespace heddle {

// The tensors on the device.
class DeviceTensors {
 public:
  DeviceTensors(const CheckpointTensors& tensors, const OwnedStream& stream);

  // Null where a tensor is empty.
  WeightSource source() const;
  // What a kernel reads.
  std::size_t bytes() const;

 private:
  DeviceBuffer weights_, scales_, zeros_, permutation_;
};

// In the current context, for whose device the kernel was loaded. Throws Error.
ByteCheck run_repack(const Kernel& kernel, std::uint32_t seed = 1);
ByteCheck run_repack(const Kernel& kernel, const CheckpointTensors& tensors);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_REPACK_CHECK_H_
