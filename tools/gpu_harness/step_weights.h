// The weights of a decode step in device memory: of each launch its own.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_WEIGHTS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "heddle/gemm.h"
#include "tools/gpu_harness/decode_step.h"
#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/gemm_tensors.h"
#include "tools/gpu_harness/helper_kernels.h"
#include "tools/gpu_harness/weight_copies.h"

namespace heddle {

// Random, and of a size that keeps activations finite: norms scale to about one over the square
// root of the width, so that the matrix behind one makes numbers of at most about one. Needs a
// current context for its whole life; the step, the helpers and the stream must outlive it.
class StepWeights {
 public:
  StepWeights(const DecodeStep& step, const HelperKernels& helpers, const OwnedStream& stream);

  // Arguments of the `turn`-th launch of a gemm in a step: its weights, bias, factors and order of
  // columns.
  GemmArgs gemm_args(std::size_t kernel, std::size_t turn) const;
  // Weights of the `turn`-th launch of a norm: one per column.
  DeviceInput norm_weight(std::size_t kernel, std::size_t turn) const;
  // Norm weights of the heads of queries or keys, for a kv_append with a norm.
  DeviceInput head_norm(std::size_t kernel) const { return kernels_[kernel].vectors.memory(); }

 private:
  struct OfKernel {
    std::unique_ptr<GemmTensors> tensors;
    std::unique_ptr<WeightCopies> packed;  // one for each launch
    DeviceBuffer vectors;                  // of norms, one after another
    std::size_t vector_bytes = 0;
  };

  std::vector<OfKernel> kernels_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_WEIGHTS_H_
