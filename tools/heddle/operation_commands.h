// What the command does with an operation on a GPU: check its kernels, run it, time it.
#ifndef HEDDLE_TOOLS_HEDDLE_OPERATION_COMMANDS_H_
#define HEDDLE_TOOLS_HEDDLE_OPERATION_COMMANDS_H_

#include <vector>

#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "tools/heddle/build_report.h"
#include "tools/heddle/operation.h"

namespace heddle {

// All throw Error. `run` and `bench` return the exit code; a gemm, which has more options, has
// neither here.
struct OperationCommands {
  // Each kernel with random data at the smallest size that it serves.
  std::vector<KernelCheck> (*check)(const Kernel& kernel);
  int (*run)(Runtime& runtime, const Spec& spec, const OperationOptions& options);
  int (*bench)(Runtime& runtime, const Spec& spec, const OperationOptions& options);
  // Whether `bench` takes --loads.
  bool takes_loads = false;
};

const OperationCommands& commands_of(const Spec& spec);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_OPERATION_COMMANDS_H_
