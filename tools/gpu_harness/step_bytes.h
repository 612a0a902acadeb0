// What the launches of a decode step must move.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_BYTES_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_BYTES_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

// One new token of each of `sequences` sequences that have `context` tokens then, the new one
// among them.
struct StepLoad {
  int sequences = 1;
  int context = 1024;
};

// Bytes that one launch of the kernel reads and writes at least once: weights, activations, the
// cache. Scales that a block of tokens shares count with their part of it. Precondition: a gemm,
// row_transform, kv_append or decode_attention.
double step_bytes(const Spec& spec, const StepLoad& load);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_BYTES_H_
