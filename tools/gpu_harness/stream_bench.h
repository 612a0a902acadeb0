// The baseline of kernels that move much and compute little: a plain streaming kernel.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STREAM_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STREAM_BENCH_H_

#include <vector>

#include "tools/gpu_harness/device_memory.h"
#include "tools/gpu_harness/graph_timer.h"
#include "tools/gpu_harness/helper_kernels.h"

namespace heddle {

struct StreamTiming {
  double us = 0;      // of the fastest shape, median per launch
  StreamShape shape;  // that one
};

// The fastest shape of stream_copy: each reads all bytes of every source and writes those of every
// output, in turn; `budget` is each shape's. There are as many sources as outputs. Needs a current
// context.
StreamTiming fastest_stream(const HelperKernels& helpers, const OwnedStream& stream,
                            const std::vector<const DeviceBuffer*>& sources,
                            const std::vector<const DeviceBuffer*>& outputs,
                            const TimingBudget& budget);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STREAM_BENCH_H_
