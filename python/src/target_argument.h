// Targets as arguments of Python functions: a Target, or the name of one.
#ifndef HEDDLE_PYTHON_SRC_TARGET_ARGUMENT_H_
#define HEDDLE_PYTHON_SRC_TARGET_ARGUMENT_H_

#include <nanobind/nanobind.h>

#include "heddle/target.h"

namespace heddle::python {

namespace nb = nanobind;

// Throws Error(kUsage, "target.unknown"), and TypeError for a value that is neither.
Target target_argument(nb::handle value);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_TARGET_ARGUMENT_H_
