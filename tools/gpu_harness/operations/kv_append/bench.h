// Times kv_append beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_BENCH_H_

#include "tools/gpu_harness/harness.h"

namespace heddle {

// A prefill of many tokens and one token for each of some sequences. In the current context.
BenchReport bench_kv_append(Runtime& runtime, const Spec& spec, const BenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_BENCH_H_
