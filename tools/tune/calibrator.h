// measure_calibration(): times kernels of every family over a set of problems until a budget is
// spent.
#ifndef HEDDLE_TOOLS_TUNE_CALIBRATOR_H_
#define HEDDLE_TOOLS_TUNE_CALIBRATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/tune/cost_fit.h"
#include "tools/tune/tuner.h"

namespace heddle {

struct CalibrationJob {
  std::string name;
  Plan plan;                    // of a gemm, made for the device; its costs are the current ones
  std::vector<std::int64_t> m;  // to measure at, ascending; each is the last of a step
};

struct CalibrationOptions {
  double seconds = 60;    // for all jobs
  std::size_t most = 16;  // kernels at one M
};

// One job at one M.
struct CalibrationCell {
  std::string name;                  // "W4 4096 x 4096, M = 16"
  std::vector<TimedKernel> kernels;  // of all families
};

struct CalibrationMeasurement {
  std::vector<CalibrationCell> cells;     // that were measured
  std::vector<std::string> not_measured;  // the others' names
  std::vector<std::string> faults;        // of kernels, and what ended the measuring
  bool interrupted = false;
};

// Cell after cell, each with an equal share of the time that is left. At each M the device checks
// the results of several kernels of each family (InformativeKernels) and times them in rounds, all
// kernels in every round, so that all see the same clock of the GPU. An Error that the device
// throws ends it, and what was measured until then is returned.
CalibrationMeasurement measure_calibration(TuneDevice& device,
                                           const std::vector<CalibrationJob>& jobs,
                                           const CalibrationOptions& options,
                                           const TuneHooks& hooks);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_CALIBRATOR_H_
