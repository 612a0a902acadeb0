// What `heddle run` and `heddle bench` do with the operations that write packed weights: repack and
// quantize_weight.
#ifndef HEDDLE_TOOLS_HEDDLE_PACKING_H_
#define HEDDLE_TOOLS_HEDDLE_PACKING_H_

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/byte_check.h"
#include "tools/gpu_harness/graph_timer.h"

namespace heddle {

// Prints the outcome of comparing bytes; returns the exit code.
int report(const Kernel& kernel, const ByteCheck& check, bool json);

// The kernel's time beside that of a plain copy. Prints it; returns the exit code.
int bench_packing(Runtime& runtime, const Spec& spec, const TimingBudget& budget, bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_PACKING_H_
