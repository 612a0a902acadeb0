// Experts to time kernels with: copies of all experts of a layer.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_EXPERT_COPIES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_EXPERT_COPIES_H_

#include <cstddef>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {

// Experts all have the same random weights, which no kernel can tell. Needs a current context for
// its whole life; all arguments must outlive it.
class ExpertCopies {
 public:
  ExpertCopies(const MoeSpec& spec, const HelperKernels& helpers, const OwnedStream& stream,
               std::size_t copies = 1);

  // Makes more, if there are fewer.
  void grow_to(std::size_t copies);
  // Of the local experts, those of the `turn`-th copy, in turns.
  DeviceInput gate_up(std::size_t turn) const { return turn_of(gate_up_, turn).memory(); }
  DeviceInput down(std::size_t turn) const { return turn_of(down_, turn).memory(); }

 private:
  const OwnedStream& stream_;
  std::vector<DeviceBuffer> gate_up_;
  std::vector<DeviceBuffer> down_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_EXPERT_COPIES_H_
