// DeviceSource: the tensors that a weight operation reads, on the device.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEVICE_SOURCE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEVICE_SOURCE_H_

#include <array>
#include <cstddef>

#include "heddle/operations.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

namespace heddle {

// One buffer with all tensors, each at a multiple of 256 bytes. Needs a current context.
class DeviceSource {
 public:
  DeviceSource(const SourceTensors& tensors, const OwnedStream& stream);

  WeightSource get() const noexcept;
  const DeviceBuffer& buffer() const noexcept { return buffer_; }

 private:
  static constexpr std::size_t kTensors = 5;

  DeviceBuffer buffer_;
  std::array<std::size_t, kTensors> offsets_{};
  std::array<std::size_t, kTensors> sizes_{};
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_DEVICE_SOURCE_H_
