// heddle tune --calibrate: the costs of this machine's GPU, which predicted times are made of.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNE_CALIBRATE_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNE_CALIBRATE_H_

#include <string>

#include "tools/heddle/run/tune_run.h"

namespace heddle {

// Returns the exit code.
int run_calibration(const TuneRun& run);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNE_CALIBRATE_H_
