// A layer of an AWQ or GPTQ checkpoint with random content, and what packing it on the host gives.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_CHECKPOINT_TENSORS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_CHECKPOINT_TENSORS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {

// As docs/checkpoints.md has them.
struct CheckpointTensors {
  std::vector<std::uint32_t> weights;
  std::vector<std::uint8_t> scales;       // [K / group, N] of scale_dtype
  std::vector<std::uint32_t> zeros;       // empty without zero points
  std::vector<std::int32_t> permutation;  // [K]; empty without act-order
};

// Any bits are a checkpoint: codes, zero points and scales are random words.
CheckpointTensors random_tensors(const WeightOpSpec& spec, std::uint32_t seed);

// By the importers of checkpoint/ and pack_weights(). Throws Error.
std::vector<std::uint8_t> pack_on_host(const WeightOpSpec& spec, const CheckpointTensors& tensors);

// The spec of a kernel that would read the packed weights.
GemmSpec gemm_spec_of(const WeightOpSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_CHECKPOINT_TENSORS_H_
