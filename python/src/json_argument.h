// Dicts as arguments of Python functions, where the library takes JSON text.
#ifndef HEDDLE_PYTHON_SRC_JSON_ARGUMENT_H_
#define HEDDLE_PYTHON_SRC_JSON_ARGUMENT_H_

#include <nanobind/nanobind.h>

#include <string>

namespace heddle::python {

namespace nb = nanobind;

// The text of what json.dumps() takes, and of scalars of NumPy and other libraries, which stand for
// the number that they hold. Raises TypeError for what JSON has no value for.
std::string json_text(nb::handle value);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_JSON_ARGUMENT_H_
