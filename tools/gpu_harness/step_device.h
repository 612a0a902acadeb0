// A decode step on the device: buffers for its activations, and its launches.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_DEVICE_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "heddle/kernel.h"
#include "tools/gpu_harness/step_caches.h"
#include "tools/gpu_harness/step_weights.h"

namespace heddle {

// Throws Error(kUsage, "step.batch") where a kernel of the step does not take so many sequences.
void check_step_load(const DecodeStep& step, const StepLoad& load);

// What a launch writes: dense rows at the beginning of a buffer.
struct StepOutput {
  DeviceBuffer* buffer = nullptr;
  std::size_t elements = 0;
  DType dtype = DType::kFp16;
};

// For one load. Two buffers of activations take turns: each launch reads one and writes the other;
// norms also change the residual stream. All launches share one workspace. Needs a current context
// for its whole life, and all arguments of the constructor must outlive it.
class StepDevice {
 public:
  // `kernels` are those of step.kernels, and check_step_load() has passed.
  StepDevice(const DecodeStep& step, const std::vector<Kernel>& kernels, const StepWeights& weights,
             const StepLoad& load, const HelperKernels& helpers, const OwnedStream& stream);
  // Its launches refer to it.
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;

  // Enqueues the copy that stands for the lookup of embeddings: the residual stream as it is ahead
  // of the first layer.
  void begin() const;
  // Enqueues the i-th launch of the step.
  void launch(std::size_t i) const { launches_[i](); }
  std::size_t launches() const noexcept { return launches_.size(); }
  int sequences() const noexcept { return load_.sequences; }
  const StepOutput& output(std::size_t i) const { return outputs_[i]; }
  StepOutput residual() { return {&residual_, residual_.bytes() / 2, dtype_}; }

 private:
  using Enqueue = std::function<void()>;

  const Spec& spec(std::size_t kernel) const { return step_.kernels[kernel]; }
  void make_buffers();
  void connect();
  Enqueue gemm(std::size_t kernel, std::size_t turn, const DeviceBuffer& in,
               const DeviceBuffer& out) const;
  Enqueue rows(std::size_t kernel, std::size_t turn, const DeviceBuffer& in,
               const DeviceBuffer& out) const;
  Enqueue append(std::size_t kernel, int layer, const DeviceBuffer& in,
                 const DeviceBuffer& out) const;
  Enqueue attention(std::size_t kernel, int layer, const DeviceBuffer& in,
                    const DeviceBuffer& out) const;

  const DecodeStep& step_;
  const std::vector<Kernel>& kernels_;
  const StepWeights& weights_;
  StepLoad load_;
  const HelperKernels& helpers_;
  const OwnedStream& stream_;
  StepCaches caches_;
  DType dtype_ = DType::kFp16;
  DeviceBuffer activations_[2];
  DeviceBuffer embeddings_;
  DeviceBuffer residual_;
  DeviceBuffer lengths_;
  DeviceBuffer rotations_;
  DeviceBuffer heads_;  // a number for each head: slopes or logits of sinks
  DeviceBuffer workspace_;
  std::vector<Enqueue> launches_;
  std::vector<StepOutput> outputs_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_DEVICE_H_
