// Times kv_append beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_KV_APPEND_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_KV_APPEND_BENCH_H_

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/kv_problem.h"
#include "tools/gpu_harness/packing_bench.h"

namespace heddle {

// In the current context, in CUDA graphs, over buffers that no cache holds, rotating.
PackingTiming bench_kv_append(Runtime& runtime, const Spec& spec, const KvAppendShape& shape,
                              const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_KV_APPEND_BENCH_H_
