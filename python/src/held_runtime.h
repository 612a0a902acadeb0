// heddle.Runtime: a Runtime whose end does not hold the GIL.
#ifndef HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_
#define HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "heddle/runtime.h"

namespace heddle::python {

namespace nb = nanobind;

struct HeldRuntime {
  explicit HeldRuntime(RuntimeOptions options)
      : runtime(std::make_unique<Runtime>(std::move(options))) {}
  // Waits for the background, whose callbacks need the GIL.
  ~HeldRuntime() {
    const nb::gil_scoped_release release;
    runtime.reset();
  }
  HeldRuntime(const HeldRuntime&) = delete;
  HeldRuntime& operator=(const HeldRuntime&) = delete;

  std::unique_ptr<Runtime> runtime;
};

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_
