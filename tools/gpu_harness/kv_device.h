// A KvProblem in device memory: its input, and a cache with Q's output.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_KV_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_KV_DEVICE_H_

#include <array>

#include "heddle/kv_append.h"
#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/kv_problem.h"

namespace heddle {

class DeviceKvInput {
 public:
  DeviceKvInput(const KvAppendSpec& spec, const KvProblem& problem, const OwnedStream& stream);

  // All but the pointers that DeviceKvOutput has.
  KvAppendArgs args() const;
  std::size_t bytes() const noexcept { return k_.bytes() + v_.bytes() + q_.bytes(); }

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

// The tensors in one buffer, with a guard before each and behind the last.
class DeviceKvOutput {
 public:
  explicit DeviceKvOutput(const KvPartBytes& bytes);

  DeviceBuffer& buffer() noexcept { return buffer_; }
  const DeviceBuffer& buffer() const noexcept { return buffer_; }
  std::size_t offset(KvPart part) const noexcept { return offsets_[part]; }
  // Null for a part that has no bytes.
  DeviceOutput get(KvPart part) const noexcept {
    return bytes_[part] == 0 ? DeviceOutput() : buffer_.memory(offsets_[part], bytes_[part]);
  }
  void set(KvAppendArgs* args) const noexcept;

 private:
  KvPartBytes bytes_;
  KvPartBytes offsets_{};
  DeviceBuffer buffer_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_KV_DEVICE_H_
