// Runs kernels on the GPU of this machine and says what is wrong with their results.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_DEVICE_CHECK_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_DEVICE_CHECK_H_

#include <string>

#include "heddle/runtime.h"
#include "tools/heddle/build/build_report.h"

namespace heddle {

// Throws Error(kDriver) if this machine has no GPU or, for a non-empty name, if its GPU is of
// another architecture than the target of that name.
void require_device(Runtime* runtime, const std::string& target_name);

// Fills `checks` of every operation: each kernel with random data at the smallest M that it serves,
// against FP64; dequantised weights bit for bit. Precondition: the build is for the device of
// `runtime`. Throws Error(kDriver).
void check_on_device(Runtime* runtime, bool show_progress, Build* build);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_DEVICE_CHECK_H_
