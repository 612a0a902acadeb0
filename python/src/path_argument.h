// Paths as arguments of Python functions: a str or an os.PathLike.
#ifndef HEDDLE_PYTHON_SRC_PATH_ARGUMENT_H_
#define HEDDLE_PYTHON_SRC_PATH_ARGUMENT_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace heddle::python {

// The bytes that the file system has for it.
inline std::string path_argument(nanobind::handle path) {
  const auto bytes =
      nanobind::cast<nanobind::bytes>(nanobind::module_::import_("os").attr("fsencode")(path));
  std::string text{bytes.c_str(), bytes.size()};
  if (text.find('\0') != std::string::npos) throw nanobind::value_error("a path has a null byte");
  return text;
}

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_PATH_ARGUMENT_H_
