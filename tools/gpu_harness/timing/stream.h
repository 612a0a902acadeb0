// What the memory of a device allows: a plain read, and a plain kernel that moves as many bytes as
// the one that is timed.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_STREAM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_STREAM_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/timing/graph_timer.h"

namespace heddle {

// TB/s of a plain kernel that reads more than the caches hold.
double read_rate(const HelperKernels& helpers, const OwnedStream& stream);

struct StreamTiming {
  double us = 0;      // of the fastest shape, median per launch
  StreamShape shape;  // that one
};

// The fastest of nine shapes of stream_copy: each reads all bytes of every source and writes those
// of every output, in turn; `budget` is each shape's. There are as many sources as outputs. Needs a
// current context.
StreamTiming fastest_stream(const HelperKernels& helpers, const OwnedStream& stream,
                            const std::vector<const DeviceBuffer*>& sources,
                            const std::vector<const DeviceBuffer*>& outputs,
                            const TimingBudget& budget);

// A kernel beside a plain streaming kernel that moves the same bytes.
struct Timing {
  std::size_t read_bytes = 0;
  std::size_t written_bytes = 0;
  double us = 0;        // per launch, median
  StreamTiming stream;  // of as many bytes, in the same run

  double bytes() const noexcept { return static_cast<double>(read_bytes + written_bytes); }
  double gb_per_s() const noexcept { return bytes() / us * 1e-3; }
  double stream_gb_per_s() const noexcept { return bytes() / stream.us * 1e-3; }
  // The kernel's rate as a share of the streaming kernel's.
  double stream_ratio() const noexcept { return stream.us / us; }
};

// Times a copy of read_bytes and written_bytes, over buffers of its own that rotate.
void time_stream(const OwnedStream& stream, const TimingBudget& budget, Timing* timing);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_STREAM_H_
