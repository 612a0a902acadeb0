// What must come of kv_append.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_EXPECTED_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_EXPECTED_H_

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {

// Writes what kv_append must write into images of the tensors, by normalize_head(), rotate_row()
// and quantize_kv(). Bytes that it must not touch stay.
void append_on_host(const KvAppendSpec& spec, const KvProblem& problem, KvImages& parts);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_EXPECTED_H_
