// What GemmKernel::launch costs on the host beside a bare cuLaunchKernelEx.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_LAUNCH_OVERHEAD_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_LAUNCH_OVERHEAD_H_

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

struct LaunchOverhead {
  double launch_us = 0;       // GemmKernel::launch
  double bare_launch_us = 0;  // cuLaunchKernelEx of the same code, grid and arguments
};

// How many rounds of each kind to measure, where one takes so long: two seconds of them at most,
// and never fewer than eleven.
int launch_rounds(double seconds_of_one);

// Medians of alternating rounds of these launches: a fifth of a second for short kernels. With
// act-order the gather is a launch more, which counts as GemmKernel::launch's. Needs a current
// context.
LaunchOverhead measure_launch_overhead(Runtime& runtime, const GemmKernel& kernel,
                                       const GemmArgs& args, const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_LAUNCH_OVERHEAD_H_
