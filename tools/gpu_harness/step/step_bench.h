// Times one decode step of a model: all of its launches in one CUDA graph.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_BENCH_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "heddle/runtime.h"
#include "tools/gpu_harness/step/decode_step.h"
#include "tools/gpu_harness/step/step_part.h"
#include "tools/gpu_harness/timing/graph_timer.h"

namespace heddle {

// What a launch of one kernel takes.
struct StepKernelTiming {
  std::size_t launches = 0;  // of a step
  double alone_us = 0;       // in a graph of these launches only, in the step's order
  double in_step_us = 0;     // by how much a step without them is faster
  double bytes = 0;          // weights, activations and cache, each once
};

struct StepTiming {
  StepLoad load;
  double us = 0;                          // the whole step, median
  std::vector<StepKernelTiming> kernels;  // as DecodeStep::kernels
  double sm_mhz = 0;                      // the SMs' clock during whole steps

  double bytes() const noexcept;
  double tokens_per_s() const noexcept { return 1e6 * load.sequences / us; }
  // The sums of all launches; the first one is not the step's time, since launches overlap.
  double alone_us() const noexcept;
  double in_step_us() const noexcept;
};

struct StepBenchReport {
  Target device;
  double read_tb_per_s = 0;  // streaming read, measured in this run
  std::vector<StepTiming> rows;

  // Bytes at that rate. Launches cost nothing in it, since those of a step overlap.
  double floor_us(double bytes) const noexcept { return bytes / read_tb_per_s * 1e-6; }
};

struct StepBenchOptions {
  TimingBudget budget;       // of each measurement
  double read_tb_per_s = 0;  // of the device, where it is known; 0: measured
  bool check = true;         // outputs; false on a device that computes nothing
  PrepareProgress on_build;
  std::function<void(std::size_t load, std::size_t kernel)> on_kernel;  // before it is timed
};

// Every layer has weights and a cache of its own in device memory, with random data, so that none
// of them stays in the L2 cache from one step to the next. Before it is timed, each step is run
// launch by launch and checked (check_step); replays of the graph must then give the same bits. In
// the current context, else in device 0's primary one. Throws Error; Error(kUsage, "step.batch")
// for a load that a kernel does not take, Error(kDriver, "step.output") for a wrong output.
// Precondition: one load at least.
StepBenchReport bench_step(Runtime& runtime, const DecodeStep& step,
                           const std::vector<StepLoad>& loads, const StepBenchOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_STEP_BENCH_H_
