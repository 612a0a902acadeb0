// What `heddle bench` does with kv_append.
#ifndef HEDDLE_TOOLS_HEDDLE_KV_APPEND_H_
#define HEDDLE_TOOLS_HEDDLE_KV_APPEND_H_

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/graph_timer.h"

namespace heddle {

// A prefill of many tokens and one token for each of some sequences, each beside a plain copy of as
// many bytes. Prints the times; returns the exit code.
int bench_kv_append(Runtime& runtime, const Spec& spec, const TimingBudget& budget, bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_KV_APPEND_H_
