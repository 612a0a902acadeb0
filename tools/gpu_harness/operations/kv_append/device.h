// A KvProblem in device memory: its input, and a cache with Q's output.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_DEVICE_H_

#include <array>

#include "heddle/operations.h"
#include "tools/gpu_harness/device/guarded_buffer.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {

class DeviceKvInput {
 public:
  DeviceKvInput(const KvAppendSpec& spec, const KvProblem& problem, const OwnedStream& stream);

  // All but the pointers that DeviceKvOutput has.
  KvAppendArgs args() const { return args_; }

 private:
  KvAppendArgs args_;
  DeviceBuffer k_;
  DeviceBuffer v_;
  DeviceBuffer q_;
  DeviceBuffer k_norm_;
  DeviceBuffer q_norm_;
  DeviceBuffer offsets_;
  DeviceBuffer lengths_;
  DeviceBuffer block_table_;
  DeviceBuffer rotations_;
  DeviceBuffer given_;
  DeviceBuffer residual_slots_;
};

// Of a part that has no bytes there is no memory.
struct DeviceKvOutput {
  explicit DeviceKvOutput(const KvPartBytes& bytes);
  void set(KvAppendArgs* args) const noexcept;

  std::array<GuardedBuffer, kKvParts> parts;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_DEVICE_H_
