// Kernels are checked before they are timed: the same for tuning and calibration.
#ifndef HEDDLE_TOOLS_TUNE_ADMIT_H_
#define HEDDLE_TOOLS_TUNE_ADMIT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "tools/tune/surroundings.h"

namespace heddle {

// Part of a cell's share of time that compiling may take before its kernels are timed.
inline constexpr double kPartToCompile = 0.7;

// A kernel that may run.
struct AdmittedKernel {
  std::size_t plan = 0;    // its place among the plans
  std::size_t handle = 0;  // Admission::kernel
};

// Asks the device to admit each plan's kernel for m tokens, in their order, until `last` by the
// hooks' clock has passed, but two of them at least. Each that may not run is a line of `faults`.
// `cell` begins these lines and those of progress. Throws what the device throws.
std::vector<AdmittedKernel> admit_kernels(TuneDevice& device, const TuneHooks& hooks,
                                          const std::string& cell, const std::vector<Plan>& plans,
                                          std::int64_t m, double last,
                                          std::vector<std::string>* faults);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_ADMIT_H_
