// A decode step on the device: buffers for its activations, and its launches.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_DEVICE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_DEVICE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "heddle/kernel.h"
#include "tools/gpu_harness/step/step_caches.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {

// Throws Error(kUsage, "step.batch") where a kernel of the step does not take so many sequences.
void check_step_load(const DecodeStep& step, const StepLoad& load);

// What a launch writes: dense rows at the beginning of a buffer.
struct StepOutput {
  DeviceBuffer* buffer = nullptr;
  std::size_t elements = 0;
  DType dtype = DType::kFp16;
};

// For one load. Two buffers of activations take turns: each launch reads one and writes the other,
// but launches aside a third one; norms also change the residual stream. All launches share one
// workspace. Needs a current context for its whole life, and all arguments of the constructor must
// outlive it.
class StepDevice {
 public:
  // `kernels` and `weights` are those of step.kernels, and check_step_load() has passed.
  StepDevice(const DecodeStep& step, const std::vector<Kernel>& kernels,
             const std::vector<std::unique_ptr<StepWeights>>& weights, const StepLoad& load,
             const HelperKernels& helpers, const OwnedStream& stream);
  // Its launches refer to it.
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;

  // Enqueues the copy that stands for the lookup of embeddings: the residual stream as it is ahead
  // of the first layer.
  void begin() const;
  // Enqueues the i-th launch of the step.
  void launch(std::size_t i) const { launches_[i](); }
  std::size_t launches() const noexcept { return launches_.size(); }
  int sequences() const noexcept { return shared_.load.sequences; }
  const StepOutput& output(std::size_t i) const { return outputs_[i]; }
  StepOutput residual() { return {&shared_.residual, shared_.residual.bytes() / 2, dtype_}; }

 private:
  StepNeeds needs_of(std::size_t kernel) const {
    return step_part_of(step_.kernels[kernel]).needs(step_.kernels[kernel], shared_.load);
  }
  void make_buffers();
  void connect(const std::vector<std::unique_ptr<StepWeights>>& weights);

  const DecodeStep& step_;
  const std::vector<Kernel>& kernels_;
  const HelperKernels& helpers_;
  StepShared shared_;
  StepCaches caches_;
  DType dtype_ = DType::kFp16;
  DeviceBuffer activations_[3];
  DeviceBuffer embeddings_;
  std::vector<std::function<void()>> launches_;
  std::vector<StepOutput> outputs_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_DEVICE_H_
