// Runs what `heddle build` has built on the GPU of this machine and compares the results.
#ifndef HEDDLE_TOOLS_HEDDLE_DEVICE_CHECK_H_
#define HEDDLE_TOOLS_HEDDLE_DEVICE_CHECK_H_

#include "heddle/runtime.h"
#include "tools/heddle/build_report.h"

namespace heddle {

// Fills `checks` of every operation: each kernel with random data at one M that it serves, against
// FP64. Precondition: the build is for the device of `runtime`. Throws Error(kDriver).
void check_on_device(Runtime* runtime, bool show_progress, Build* build);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_DEVICE_CHECK_H_
