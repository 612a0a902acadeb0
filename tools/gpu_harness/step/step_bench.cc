#include "tools/gpu_harness/step/step_bench.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "heddle/error.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/step/step_check.h"
#include "tools/gpu_harness/step/step_device.h"
#include "tools/gpu_harness/timing/sm_clock.h"
#include "tools/gpu_harness/timing/stream.h"

namespace heddle {
namespace {

// Launches of a step, by their numbers, ascending.
using LaunchNumbers = std::vector<std::size_t>;

class StepBench {
 public:
  StepBench(const DecodeStep& step, const std::vector<Kernel>& kernels,
            const StepBenchOptions& options)
      : step_(step), kernels_(kernels), options_(options) {
    for (std::size_t i = 0; i < step.kernels.size(); ++i) {
      const Spec& spec = step.kernels[i];
      weights_.push_back(step_part_of(spec).weights(spec, step.count(i), helpers_, stream_));
    }
    stream_.synchronize();
  }

  double measure_read_rate() const { return read_rate(helpers_, stream_); }
  StepTiming time_load(std::size_t number, const StepLoad& load);

 private:
  template <class Takes>
  LaunchNumbers launches_if(const Takes& takes) const;
  LaunchNumbers all() const;
  LaunchNumbers only(std::size_t kernel) const;
  LaunchNumbers all_but(std::size_t kernel) const;
  TimedRound round_of(StepDevice& device, LaunchNumbers launches, bool begins) const;
  double time_whole(StepDevice& device);
  StepKernelTiming time_kernel(StepDevice& device, const StepLoad& load, std::size_t kernel) const;

  const DecodeStep& step_;
  const std::vector<Kernel>& kernels_;
  const StepBenchOptions& options_;
  OwnedStream stream_;
  HelperKernels helpers_;
  SmClock clock_{helpers_, stream_};
  std::vector<std::unique_ptr<StepWeights>> weights_;  // of each kernel
};

// `takes`: whether a step's launch of this kernel is one of them.
template <class Takes>
LaunchNumbers StepBench::launches_if(const Takes& takes) const {
  LaunchNumbers launches;
  for (std::size_t i = 0; i < step_.launches.size(); ++i) {
    if (takes(step_.launches[i].kernel)) launches.push_back(i);
  }
  return launches;
}
LaunchNumbers StepBench::all() const {
  return launches_if([](std::size_t) { return true; });
}
LaunchNumbers StepBench::only(std::size_t kernel) const {
  return launches_if([kernel](std::size_t other) { return other == kernel; });
}
LaunchNumbers StepBench::all_but(std::size_t kernel) const {
  return launches_if([kernel](std::size_t other) { return other != kernel; });
}

// `begins`: with the copy that stands for the lookup of embeddings ahead of each round.
TimedRound StepBench::round_of(StepDevice& device, LaunchNumbers launches, bool begins) const {
  const int round = static_cast<int>(launches.size());
  return {round, [&device, launches = std::move(launches), begins](int i) {
            const std::size_t place = static_cast<std::size_t>(i) % launches.size();
            if (place == 0 && begins) device.begin();
            device.launch(launches[place]);
          }};
}

double StepBench::time_whole(StepDevice& device) {
  const TimedRound whole = round_of(device, all(), true);
  std::vector<unsigned char> expected;
  if (options_.check) expected = check_step(step_, device, stream_);
  const double us =
      whole.round * time_in_graph(stream_, whole.round, options_.budget, whole.launch, &clock_);
  if (options_.check && last_output(device, stream_) != expected) {
    throw Error(ErrorCategory::kDriver, "step.output",
                "replays of the step's graph give other bits than its launches one by one");
  }
  return us;
}

StepKernelTiming StepBench::time_kernel(StepDevice& device, const StepLoad& load,
                                        std::size_t kernel) const {
  StepKernelTiming timing;
  const Spec& spec = step_.kernels[kernel];
  timing.bytes = step_part_of(spec).bytes(spec, load);
  const TimedRound whole = round_of(device, all(), true);
  const TimedRound without = round_of(device, all_but(kernel), true);
  const TimedRound alone = round_of(device, only(kernel), false);
  timing.launches = static_cast<std::size_t>(alone.round);
  timing.alone_us = time_in_graph(stream_, alone.round, options_.budget, alone.launch);
  const auto [all_us, others_us] = time_in_turns(stream_, whole, without, options_.budget);
  timing.in_step_us = (all_us * whole.round - others_us * without.round) / alone.round;
  return timing;
}

StepTiming StepBench::time_load(std::size_t number, const StepLoad& load) {
  StepDevice device(step_, kernels_, weights_, load, helpers_, stream_);
  StepTiming timing;
  timing.load = load;
  timing.us = time_whole(device);
  timing.sm_mhz = clock_.mhz();
  for (std::size_t kernel = 0; kernel < step_.kernels.size(); ++kernel) {
    if (options_.on_kernel) options_.on_kernel(number, kernel);
    timing.kernels.push_back(time_kernel(device, load, kernel));
  }
  return timing;
}

double sum(const StepTiming& timing, double StepKernelTiming::*of_launch) {
  double all = 0;
  for (const StepKernelTiming& kernel : timing.kernels) {
    all += static_cast<double>(kernel.launches) * kernel.*of_launch;
  }
  return all;
}

}  // namespace

double StepTiming::bytes() const noexcept { return sum(*this, &StepKernelTiming::bytes); }
double StepTiming::alone_us() const noexcept { return sum(*this, &StepKernelTiming::alone_us); }
double StepTiming::in_step_us() const noexcept { return sum(*this, &StepKernelTiming::in_step_us); }

StepBenchReport bench_step(Runtime& runtime, const DecodeStep& step,
                           const std::vector<StepLoad>& loads, const StepBenchOptions& options) {
  for (const StepLoad& load : loads) check_step_load(step, load);
  const cuda::CurrentContext context;
  StepBenchReport report;
  report.device = runtime.device_target();
  const std::vector<Kernel> kernels = runtime.prepare(step.kernels, options.on_build);
  StepBench bench(step, kernels, options);
  report.read_tb_per_s =
      options.read_tb_per_s > 0 ? options.read_tb_per_s : bench.measure_read_rate();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    report.rows.push_back(bench.time_load(i, loads[i]));
  }
  return report;
}

}  // namespace heddle
