// Times the kernels that write packed weights, beside a plain copy of as many bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_PACKING_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_PACKING_BENCH_H_

#include <cstddef>

#include "heddle/runtime.h"
#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/graph_timer.h"

namespace heddle {

struct PackingTiming {
  std::size_t read_bytes = 0;
  std::size_t written_bytes = 0;
  double us = 0;         // per launch, median
  double gb_per_s = 0;   // read and written
  double stream_us = 0;  // of a streaming kernel with the same numbers of bytes, in the same run
  // The kernel's rate as a share of the streaming kernel's.
  double stream_ratio() const noexcept { return stream_us / us; }
};

// A repack or quantize_weight spec, in a CUDA graph over buffers that rotate through more memory
// than the caches hold. In the current context, else in device 0's primary one. Throws Error.
PackingTiming bench_packing(Runtime& runtime, const Spec& spec, const TimingBudget& budget = {});

// Sets stream_us, from read_bytes and written_bytes.
void time_stream(const OwnedStream& stream, const TimingBudget& budget, PackingTiming* timing);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_PACKING_BENCH_H_
