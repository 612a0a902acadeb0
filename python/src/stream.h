// Streams as arguments of Python functions.
#ifndef HEDDLE_PYTHON_SRC_STREAM_H_
#define HEDDLE_PYTHON_SRC_STREAM_H_

#include <nanobind/nanobind.h>

#include "heddle/kernel.h"

namespace heddle::python {

namespace nb = nanobind;

// For stream_argument(): PyTorch's current device.
inline constexpr int kAnyDevice = -1;

// The handle of a stream: an int, an object with `cuda_stream` (PyTorch), `ptr` (CuPy) or
// `__cuda_stream__()`. None: PyTorch's current stream on the device, if torch has been imported and
// has initialised CUDA, else the default stream. Throws Error(kUsage, "launch.stream").
Stream stream_argument(nb::handle value, int device);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_STREAM_H_
