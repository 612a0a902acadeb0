#include "kernels.h"

#include <type_traits>

#include "bindings.h"
#include "errors.h"
#include "heddle/operations.h"

namespace heddle::python {

namespace {

template <class... Handles>
nb::object object_of(const Kernel& kernel) {
  nb::object object;
  const auto take = [&]<class Handle>(std::type_identity<Handle>) {
    if (kernel.op() == Handle::kOp) object = nb::cast(Handle(kernel));
  };
  (take(std::type_identity<Handles>()), ...);
  return object;
}

}  // namespace

nb::object kernel_object(const Kernel& kernel) {
  return object_of<GemmKernel, DequantizeKernel, RepackKernel, QuantizeWeightKernel, KvAppendKernel,
                   DecodeAttentionKernel, RowTransformKernel, MoeKernel>(kernel);
}

namespace {

// Launch.__call__(stream=None) as a slot of the type, which costs half of what a method does.
PyObject* call_launch(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* stream = Py_None;
  const Py_ssize_t given = PyTuple_Size(args);
  if (given == 1 && kwargs == nullptr) {
    stream = PyTuple_GetItem(args, 0);
  } else if (given != 0 || kwargs != nullptr) {
    static const char* const names[] = {"stream", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Launch", const_cast<char**>(names),
                                    &stream) == 0) {
      return nullptr;
    }
  }
  try {
    (*nb::inst_ptr<const Launch>(self))(stream);
  } catch (...) {
    set_exception();
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyType_Slot launch_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_launch)}, {0, nullptr}};

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<Launch>(m, "Launch", nb::type_slots(launch_slots),
                     "A kernel with the arguments of a launch, checked once by bind(). Calling it "
                     "launches, and does nothing else: it may be captured into a CUDA graph. It "
                     "keeps its arrays alive; they must not be resized.\n\n"
                     "launch(stream=None) enqueues the kernel on `stream`, in the current context: "
                     "an int, or a stream of PyTorch, CuPy or cuda.core. None: PyTorch's current "
                     "stream if torch is in use, else the default stream. Any thread.")
      .def_ro("op", &Launch::op)
      .def_ro("device", &Launch::device)
      .def("__repr__", [](const Launch& self) {
        return nb::str("Launch(op={!r}, device={})").format(self.op, self.device);
      });
}

}  // namespace heddle::python
