// calibrate(): from measured times to cost parameters, and whether they predict better than the
// current ones.
#ifndef HEDDLE_TOOLS_TUNE_CALIBRATION_H_
#define HEDDLE_TOOLS_TUNE_CALIBRATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/tuned.h"
#include "tools/tune/calibrator.h"
#include "tools/tune/cost_fit.h"

namespace heddle {

enum class CalibrationVerdict {
  kBetter,     // the fitted values are to be written
  kNotBetter,  // they make predicted times of held-out kernels worse: the current ones stay
  kTooLittle,  // there is too little to fit values to and to judge them by
};

struct FamilyCalibration {
  const GemmFamily* family = nullptr;
  CalibrationVerdict verdict = CalibrationVerdict::kTooLittle;
  std::size_t fitted = 0;       // kernels that the values were fitted to
  std::size_t held_out = 0;     // and those that judge them
  std::vector<double> current;  // values, in the parameters' order
  std::vector<double> values;   // fitted; empty with kTooLittle
  // Errors for the held-out kernels; there are none with kTooLittle.
  CostErrors before;
  CostErrors after;
};

// Calibrates each family with kernels among the cells, in the planner's order. Every kHoldOut-th of
// the cells with kernels of a family is held out, and the values are fitted to the others. Fitted
// values count as better if they differ and neither the median nor the 90th percentile of the
// errors of held-out kernels is worse.
std::vector<FamilyCalibration> calibrate(const std::vector<CalibrationCell>& cells);

inline constexpr std::size_t kHoldOut = 4;
// Fewer kernels are too little.
inline constexpr std::size_t kFewestFitted = 16;
inline constexpr std::size_t kFewestHeldOut = 4;

// The costs of the families whose values are better, for a tuned table.
std::vector<TunedCosts> costs_to_write(const std::vector<FamilyCalibration>& families,
                                       const std::string& from);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_CALIBRATION_H_
