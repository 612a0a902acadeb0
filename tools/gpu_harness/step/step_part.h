// What a decode step needs to know of an operation.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_PART_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_PART_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"

namespace heddle {

// One new token of each of `sequences` sequences that have `context` tokens then, the new one
// among them.
struct StepLoad {
  int sequences = 1;
  int context = 1024;
};

struct StepNeeds {
  // Columns of what a launch reads and writes, of one sequence.
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType out_dtype = DType::kFp16;
  std::size_t rotations = 0;  // numbers of the table
  std::size_t heads = 0;      // numbers for each head: slopes or logits of sinks
};

// What all launches of a step share.
struct StepShared {
  const OwnedStream& stream;
  StepLoad load;
  DeviceBuffer residual;
  DeviceBuffer lengths;
  DeviceBuffer rotations;
  DeviceBuffer heads;
  DeviceBuffer workspace;
};

// One launch.
struct StepPlace {
  const Kernel& kernel;
  std::size_t turn = 0;  // among those of the kernel
  const DeviceBuffer& in;
  const DeviceBuffer& out;
  const KvCache* cache = nullptr;  // of its layer
};

// Those of all launches of one kernel: random, and of a size that keeps activations finite. Norms
// scale to about one over the square root of the width, so that the matrix behind one makes numbers
// of at most about one.
struct StepWeights {
  virtual ~StepWeights() = default;
};

// Weights need a current context for their whole life; the helpers and the stream must outlive
// them.
class StepPart {
 public:
  virtual ~StepPart() = default;
  virtual StepNeeds needs(const Spec& spec, const StepLoad& load) const = 0;
  // That one launch reads and writes at least once: weights, activations, the cache. Scales that a
  // block of tokens shares count with their part of it.
  virtual double bytes(const Spec& spec, const StepLoad& load) const = 0;
  // Null for an operation without weights.
  virtual std::unique_ptr<StepWeights> weights(const Spec& /*spec*/, std::size_t /*launches*/,
                                               const HelperKernels& /*helpers*/,
                                               const OwnedStream& /*stream*/) const {
    return nullptr;
  }
  // Enqueues the launch whenever it is called. What is shared, and the weights, which are of
  // weights(), must outlive it.
  virtual std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                                       const StepWeights* weights) const = 0;
};

// Precondition: a step has launches of the operation.
const StepPart& step_part_of(const Spec& spec);

// For implementations.
//
// Bytes of a matrix.
double matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype);
// What `copies` norms multiply by, one behind the other: `scale` times a number from one half to
// three halves, less the offset that is added to it.
DeviceBuffer norm_weights(std::int64_t columns, std::size_t copies, double scale, int offset,
                          DType dtype, const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_PART_H_
