// A layer of an AWQ or GPTQ checkpoint with random content, and what packing it on the host gives.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_CHECKPOINT_TENSORS_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_CHECKPOINT_TENSORS_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/weight_ops/source_tensors.h"

namespace heddle {

// For repacking: with act-order there is a permutation of the columns.
SourceTensors random_tensors(const WeightOpSpec& spec, std::uint32_t seed);

// By the importers of checkpoint/ and pack_weights(). Throws Error.
std::vector<std::uint8_t> pack_on_host(const WeightOpSpec& spec, const SourceTensors& tensors);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_WEIGHT_OPS_CHECKPOINT_TENSORS_H_
