// What the classes of all operations' kernels have in common.
#ifndef HEDDLE_PYTHON_SRC_KERNELS_H_
#define HEDDLE_PYTHON_SRC_KERNELS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "stream.h"

namespace heddle::python {

namespace nb = nanobind;

// A kernel with all arguments of a launch, checked once. It keeps the arrays alive.
struct Launch {
  std::function<void(Stream)> run;
  std::string op;
  int device = 0;
  nb::object owners;

  // Without the GIL.
  void operator()(nb::handle stream) const {
    const Stream on = stream_argument(stream, device);
    const nb::gil_scoped_release release;
    run(on);
  }
};

template <class Handle, class Args>
Launch make_launch(const Handle& handle, const Args& args, Arguments* arguments) {
  return {[handle, args](Stream stream) { handle.launch(args, stream); },
          std::string(to_string(Handle::kOp)), handle.kernel().device(), arguments->take_owners()};
}

// The kernel as the class of its operation: "GemmKernel" ...
nb::object kernel_object(const Kernel& kernel);

// The class of an operation's handle, with what all of them have.
template <class Handle>
nb::class_<Handle> bind_handle(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Handle>(m, name, doc)
      .def_prop_ro(
          "op", [](const Handle&) { return std::string(to_string(Handle::kOp)); }, "The operation.")
      .def_prop_ro(
          "spec", [](const Handle& self) -> const Spec& { return self.plan().spec; },
          nb::rv_policy::reference_internal, "What it does.")
      .def_prop_ro(
          "plan", [](const Handle& self) -> const Plan& { return self.plan(); },
          nb::rv_policy::reference_internal, "How it does it.")
      .def_prop_ro(
          "device", [](const Handle& self) { return self.kernel().device(); },
          "Ordinal of the device that it was loaded for.")
      .def_prop_ro("max_workspace_bytes", &Handle::max_workspace_bytes,
                   "Bytes of workspace that suffice for every launch; 0 if none needs any. Set "
                   "them to zero once. Launches that may run at the same time need their own.")
      .def("__repr__", [name](const Handle& self) {
        return nb::str("{}({!r}, device={})")
            .format(name, self.plan().spec, self.kernel().device());
      });
}

// Adds bind(arguments...) and launch(arguments..., stream). `check` is a plain function
// Launch(const Handle&, nb::handle or std::optional arguments...).
template <class Handle, class... Values, class... Extra>
void add_launches(nb::class_<Handle>& type, Launch (*check)(const Handle&, Values...),
                  const std::string& signature, const char* doc, const Extra&... extra) {
  const std::string bind_sig = "def bind(self, *, " + signature + ") -> Launch";
  const std::string launch_sig =
      "def launch(self, *, " + signature + ", stream: object = None) -> None";
  // nanobind keeps the pointer.
  static const std::string kept[] = {bind_sig, launch_sig};
  type.def("bind", check, nb::kw_only(), extra..., nb::sig(kept[0].c_str()), doc);
  type.def(
      "launch",
      [check](const Handle& self, Values... values, nb::handle stream) {
        check(self, std::move(values)...)(stream);
      },
      nb::kw_only(), extra..., nb::arg("stream") = nb::none(), nb::sig(kept[1].c_str()),
      "bind() and one launch on `stream`. The arrays must live until it has ended.");
}

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_KERNELS_H_
