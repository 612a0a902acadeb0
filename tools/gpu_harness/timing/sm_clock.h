// The clock of the SMs while a stream works.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_SM_CLOCK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_SM_CLOCK_H_

#include <cstdint>
#include <vector>

#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"

namespace heddle {

// A GPU at its limit of power lowers its clock, and times are to be read with that in mind. Both
// arguments of the constructor must outlive it.
class SmClock {
 public:
  SmClock(const HelperKernels& helpers, const OwnedStream& stream);

  // Enqueued on the stream, ahead of the work and behind it.
  void start();
  void stop();

  // Between the two, the mean over time, the median over SMs; waits for the stream. 0 if no SM was
  // seen both times. Precondition: both have been called.
  double mhz() const;

 private:
  struct Reading {
    std::uint64_t clocks = 0;
    std::uint64_t nanoseconds = 0;
  };
  std::vector<Reading> readings_of(const DeviceBuffer& buffer) const;

  const HelperKernels& helpers_;
  const OwnedStream& stream_;
  DeviceBuffer before_;
  DeviceBuffer after_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_SM_CLOCK_H_
