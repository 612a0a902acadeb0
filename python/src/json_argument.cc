#include "json_argument.h"

#include <nanobind/stl/string.h>

namespace heddle::python {
namespace {

// What json.dumps() cannot write itself: numpy.int64(4096), numpy.float32(0.5), numpy.bool_(True),
// and whatever says that it is an integer.
nb::object plain_value(nb::handle value) {
  const nb::object shape = nb::getattr(value, "shape", nb::none());
  const bool is_scalar = nb::isinstance<nb::tuple>(shape) && nb::len(shape) == 0;
  if (is_scalar && nb::hasattr(value, "item")) return value.attr("item")();
  if (PyObject* const integer = PyNumber_Index(value.ptr())) return nb::steal(integer);
  PyErr_Clear();
  throw nb::type_error(("no value of JSON: " + nb::cast<std::string>(nb::repr(value))).c_str());
}

}  // namespace

std::string json_text(nb::handle value) {
  const nb::object dumps = nb::module_::import_("json").attr("dumps");
  return nb::cast<std::string>(
      dumps(value, nb::arg("default") = nb::cpp_function(&plain_value, nb::arg().none())));
}

}  // namespace heddle::python
