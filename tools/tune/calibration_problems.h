// The fixed set of problems that cost parameters are measured with.
#ifndef HEDDLE_TOOLS_TUNE_CALIBRATION_PROBLEMS_H_
#define HEDDLE_TOOLS_TUNE_CALIBRATION_PROBLEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct CalibrationProblem {
  std::string name;  // "W4 4096 x 4096"
  GemmSpec gemm;
  std::vector<std::int64_t> m;  // ascending; each is the last M of a step of tokens
};

// Between them they exercise every parameter of every family: few and many rows, short and long K,
// M from 1 to 1024, and formats whose decoding costs little, some and much per byte. The first ones
// tell the most, so that a short budget is well spent.
std::vector<CalibrationProblem> calibration_problems();

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_CALIBRATION_PROBLEMS_H_
