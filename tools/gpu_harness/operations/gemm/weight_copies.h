// Weights to time kernels with: copies that together are larger than any cache.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_WEIGHT_COPIES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_WEIGHT_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/operations/gemm/device_weights.h"
#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {

// The rows that all others repeat, as a gemm of their own.
GemmSpec spec_of_unit(const GemmSpec& spec);

// The rows of a few row blocks are random; all others repeat them, which no kernel can tell and
// which spares the host the work. Needs a current context.
class WeightCopies {
 public:
  // `copies` of the packed weights; 0: copies_for() them.
  WeightCopies(const GemmSpec& spec, const HelperKernels& helpers, const OwnedStream& stream,
               std::size_t copies = 0);

  const std::vector<DeviceBuffer>& packed() const noexcept { return packed_; }
  // The weights in the activation's type, [N, K]; made when they are first asked for.
  const std::vector<DeviceBuffer>& rounded();

 private:
  GemmSpec spec_;
  const HelperKernels& helpers_;
  const OwnedStream& stream_;
  DeviceWeights unit_;
  std::vector<DeviceBuffer> packed_;
  std::vector<DeviceBuffer> rounded_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_WEIGHT_COPIES_H_
