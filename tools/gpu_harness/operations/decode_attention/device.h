// An AttentionProblem in device memory.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_DEVICE_H_

#include <array>

#include "heddle/operations.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"

namespace heddle {

// Tensors end where their buffers end, so that a memory checker sees what is read beyond.
class DeviceAttention {
 public:
  DeviceAttention(const Plan& plan, const AttentionProblem& problem, const OwnedStream& stream);

  // All but `out` and `log_sum_exp`.
  const DecodeAttentionArgs& args() const noexcept { return args_; }

 private:
  DecodeAttentionArgs args_;
  DeviceBuffer q_;
  DeviceBuffer lengths_;
  DeviceBuffer table_;
  std::array<DeviceBuffer, 2> codes_;
  std::array<DeviceBuffer, 2> scales_;
  DeviceBuffer given_;
  DeviceBuffer slopes_;
  DeviceBuffer sinks_;
  DeviceBuffer workspace_;
  DeviceBuffer residual_;
  DeviceBuffer residual_slots_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_DEVICE_H_
