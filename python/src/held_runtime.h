// heddle.Runtime: a Runtime whose end does not hold the GIL, and that does not outlive the
// interpreter.
#ifndef HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_
#define HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_

#include <memory>
#include <mutex>

#include "heddle/runtime.h"

namespace heddle::python {

// A Runtime until the interpreter ends. Any thread, with or without the GIL.
class HeldRuntime {
 public:
  explicit HeldRuntime(RuntimeOptions options);
  ~HeldRuntime();
  HeldRuntime(const HeldRuntime&) = delete;
  HeldRuntime& operator=(const HeldRuntime&) = delete;

  // It lives until the call on it has returned. Throws Error(kUsage, "runtime.ended").
  std::shared_ptr<Runtime> operator->() const;
  // To leave none here.
  std::shared_ptr<Runtime> take();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Runtime> runtime_;
};

// Ends every Runtime that there still is, and waits up to a minute for what other threads do with
// them: NVRTC does not survive the end of a process in which it compiles. Without the GIL, and once
// no callback is called any more.
void end_runtimes();

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_HELD_RUNTIME_H_
