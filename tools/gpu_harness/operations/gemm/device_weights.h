// Random quantised weights of a GEMM on the device, as plain arrays, and packed on the host.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DEVICE_WEIGHTS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DEVICE_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"

namespace heddle {

// Needs a current context. The same seed gives the same weights, as random_weights() makes them.
class DeviceWeights {
 public:
  DeviceWeights(const GemmSpec& spec, std::uint32_t seed, const OwnedStream& stream);

  const std::vector<std::uint8_t>& packed() const noexcept { return packed_; }
  // Pointers into this object's buffers.
  const ReferenceWeights& plain() const noexcept { return plain_; }
  // The weights in the activation's type, [N, K].
  DeviceBuffer rounded(const HelperKernels& helpers, const OwnedStream& stream) const;

 private:
  bool bf16_;
  std::vector<std::uint8_t> packed_;
  DeviceBuffer codes_;
  DeviceBuffer values_;
  DeviceBuffer scales_;
  DeviceBuffer zeros_;
  ReferenceWeights plain_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_DEVICE_WEIGHTS_H_
