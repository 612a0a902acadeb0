// Specs as arguments of Python functions: a Spec, a dict, or JSON text.
#ifndef HEDDLE_PYTHON_SRC_SPEC_ARGUMENT_H_
#define HEDDLE_PYTHON_SRC_SPEC_ARGUMENT_H_

#include <nanobind/nanobind.h>

#include <vector>

#include "heddle/spec.h"

namespace heddle::python {

namespace nb = nanobind;

// Throws Error(kSpec), and TypeError for a value that is none of these.
Spec spec_argument(nb::handle value);
std::vector<Spec> spec_arguments(nb::handle values);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_SPEC_ARGUMENT_H_
