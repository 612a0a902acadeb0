// heddle::Error as a Python exception.
#ifndef HEDDLE_PYTHON_SRC_ERRORS_H_
#define HEDDLE_PYTHON_SRC_ERRORS_H_

#include <string>

namespace heddle::python {

// Throws Error(kUsage) that names an argument: "launch.shape" and the like.
[[noreturn]] void refuse(const char* code, std::string message, std::string value = {},
                         std::string allowed = {});

// In a catch block: sets Python's exception for what was caught.
void set_exception();

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_ERRORS_H_
