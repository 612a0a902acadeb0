// The facts of a device that the planner uses.
#ifndef HEDDLE_RUNTIME_DRIVER_DEVICE_H_
#define HEDDLE_RUNTIME_DRIVER_DEVICE_H_

#include "heddle/target.h"
#include "runtime/driver/cuda_abi.h"

namespace heddle {

// Asks the driver for every fact but those that were measured, which go by its name. Throws
// Error(kDriver). Any thread; needs no context.
Target target_of_device(cuda::CUdevice device);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_DRIVER_DEVICE_H_
