// The key-value caches of all decoder layers of a step.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CACHES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CACHES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/operations/decode_attention/bench_cache.h"
#include "tools/gpu_harness/step/decode_step.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {

// Each layer has pages of its own. Those of layers with the same attention lie in one allocation,
// so that the host makes random data once. Needs a current context for its whole life.
class StepCaches {
 public:
  StepCaches(const DecodeStep& step, const StepLoad& load, const OwnedStream& stream);

  // With the block table, where it is paged. Null behind the last layer.
  const KvCache* of_layer(int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index < layers_.size() ? &layers_[index] : nullptr;
  }

 private:
  void add(const DecodeAttentionSpec& spec, const std::vector<int>& layers, const StepLoad& load,
           const OwnedStream& stream);

  std::vector<std::unique_ptr<BenchCache>> caches_;
  std::vector<DeviceBuffer> tables_;
  std::vector<KvCache> layers_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_CACHES_H_
