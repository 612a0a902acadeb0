// Times a decode_attention kernel beside what the memory allows.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_H_

#include <vector>

#include "tools/gpu_harness/harness.h"

namespace heddle {

// From one short sequence to many long ones.
std::vector<AttentionLoad> usual_attention_loads();

// With each load; without one from one short sequence to many long ones. Pages are in a random
// order. Makes the kernel in the current context, else in device 0's primary one. Throws Error.
BenchReport bench_attention(Runtime& runtime, const Spec& spec, const BenchOptions& options);

// As Harness::time_plans(), with one load.
PlanTimes bench_attention_plans(Runtime& runtime, const std::vector<Plan>& plans,
                                const AttentionLoad& load, const BenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_H_
