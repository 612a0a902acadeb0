#include "callbacks.h"

#include <nanobind/stl/string.h>

#include <shared_mutex>
#include <string>

#include "bindings.h"
#include "held_runtime.h"

namespace heddle::python {
namespace {

// A thread that waits for the GIL when the interpreter is finalised never runs again, so none may
// wait then: every PythonCall holds this, and the end takes it alone before it begins. Never
// destroyed, because threads of the library may outlive static objects.
struct Interpreter {
  std::shared_mutex mutex;
  bool ended = false;
};
Interpreter& interpreter() {
  static auto* const instance = new Interpreter;
  return *instance;
}

void end_callbacks() {
  const nb::gil_scoped_release release;
  {
    const std::unique_lock lock(interpreter().mutex);
    interpreter().ended = true;
  }
  end_runtimes();
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

// Told by who makes the call, not by the first thread that would call it.
void need_function(nb::handle value, const char* name) {
  if (PyCallable_Check(value.ptr()) != 0) return;
  const auto type = nb::cast<std::string>(value.type().attr("__name__"));
  throw nb::type_error((std::string(name) + " must be a function or None, not " + type).c_str());
}

}  // namespace

PythonCall::PythonCall() {
  interpreter().mutex.lock_shared();
  ok_ = !interpreter().ended;
  if (ok_) {
    state_ = PyGILState_Ensure();
  } else {
    interpreter().mutex.unlock_shared();
  }
}

PythonCall::~PythonCall() {
  if (!ok_) return;
  PyGILState_Release(state_);
  interpreter().mutex.unlock_shared();
}

std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            const PythonCall call;
            // Without an interpreter there is nothing to give the reference back to.
            if (call.ok()) delete held;
          }};
}

void RaisedError::keep() {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::current_exception();
}

void RaisedError::rethrow() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

PrepareProgress progress_of(nb::handle function, RaisedError* raised) {
  if (function.is_none()) return {};
  need_function(function, "progress");
  return [function, raised](const BuildResult& result, std::size_t done, std::size_t total) {
    const PythonCall call;
    if (!call.ok()) return false;
    try {
      const nb::object answer = function(result, done, total);
      return !answer.is(nb::handle(Py_False));
    } catch (...) {
      raised->keep();
      return false;
    }
  };
}

LogCallback log_of(nb::object function) {
  if (function.is_none()) return {};
  need_function(function, "log");
  return [held = shared_object(std::move(function))](LogLevel level, std::string_view text) {
    const PythonCall call;
    if (!call.ok()) return;
    try {
      (*held)(level_name(level),
              nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                                             "backslashreplace")));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("a log callback of heddle.Runtime");
    }
  };
}

void bind_callbacks(nb::module_&) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_callbacks));
}

}  // namespace heddle::python
