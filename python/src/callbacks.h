// Python functions that Heddle calls, from whichever thread and without the GIL.
#ifndef HEDDLE_PYTHON_SRC_CALLBACKS_H_
#define HEDDLE_PYTHON_SRC_CALLBACKS_H_

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "heddle/runtime.h"

namespace heddle::python {

namespace nb = nanobind;

// While one lives, the calling thread has the GIL, unless the interpreter ends: then ok() is false,
// and Python may not be touched. The end waits for those that live.
class PythonCall {
 public:
  PythonCall();
  ~PythonCall();
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
  bool ok() const noexcept { return ok_; }

 private:
  bool ok_ = false;
  PyGILState_STATE state_{};
};

// A Python object that any thread may drop.
std::shared_ptr<nb::object> shared_object(nb::object object);

// What a callback raised, until the call that it belongs to has returned to Python.
class RaisedError {
 public:
  // Keeps the first one. Any thread, in a catch block.
  void keep();
  // Throws what was kept. With the GIL.
  void rethrow();

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Calls function(result, done, total), as PrepareProgress. A return value of False cancels, and so
// does an exception, which goes to `raised`. `function` is None or lives as long as the call.
// Raises TypeError, as log_of() does, for what cannot be called.
PrepareProgress progress_of(nb::handle function, RaisedError* raised);

// Calls function(level, text) with "debug", "info", "warning" or "error"; what it raises goes to
// sys.unraisablehook.
LogCallback log_of(nb::object function);

// Runs work() without the GIL. What a callback raised goes before what work() threw because of it.
template <class Work>
auto without_gil(RaisedError* raised, Work&& work) {
  try {
    const nb::gil_scoped_release release;
    return std::forward<Work>(work)();
  } catch (...) {
    raised->rethrow();
    throw;
  }
}

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_CALLBACKS_H_
