#include "stream.h"

#include <nanobind/stl/string.h>

#include <cstdint>

#include "errors.h"

namespace heddle::python {
namespace {

// NOLINTNEXTLINE(performance-no-int-to-ptr): Python has handles as integers.
Stream to_stream(std::uintptr_t handle) { return reinterpret_cast<Stream>(handle); }

// torch.cuda, once torch has initialised CUDA; null before. Kept for the life of the process, as
// sys.modules keeps it. With the GIL.
nb::handle torch_cuda() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  const nb::str name("torch");
  const nb::object torch = nb::steal(PyImport_GetModule(name.ptr()));
  if (!torch.is_valid()) {
    PyErr_Clear();
    return {};
  }
  const nb::object cuda = nb::getattr(torch, "cuda", nb::none());
  if (cuda.is_none() || !nb::cast<bool>(cuda.attr("is_initialized")())) return {};
  found = nb::object(cuda).release().ptr();
  return found;
}

Stream current_stream(int device) {
  const nb::handle cuda = torch_cuda();
  if (!cuda.is_valid()) return nullptr;
  const nb::object of = device == kAnyDevice ? nb::none() : nb::cast(device);
  return to_stream(nb::cast<std::uintptr_t>(cuda.attr("current_stream")(of).attr("cuda_stream")));
}

}  // namespace

Stream stream_argument(nb::handle value, int device) {
  if (value.is_none()) return current_stream(device);
  if (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr())) {
    const std::size_t handle = PyLong_AsSize_t(value.ptr());
    if (handle == static_cast<std::size_t>(-1) && PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
    return to_stream(handle);
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    const nb::object handle = nb::getattr(value, name, nb::none());
    if (nb::isinstance<nb::int_>(handle)) return to_stream(nb::cast<std::uintptr_t>(handle));
  }
  if (nb::hasattr(value, "__cuda_stream__")) {
    const nb::object version_and_handle = value.attr("__cuda_stream__")();
    return to_stream(nb::cast<std::uintptr_t>(version_and_handle[1]));
  }
  refuse("launch.stream", "stream is a " + nb::cast<std::string>(value.type().attr("__name__")), {},
         "an int, None, or an object with cuda_stream, ptr or __cuda_stream__");
}

}  // namespace heddle::python
