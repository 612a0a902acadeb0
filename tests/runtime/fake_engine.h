// What an engine has on the fake driver: a context and streams.
#ifndef HEDDLE_TESTS_RUNTIME_FAKE_ENGINE_H_
#define HEDDLE_TESTS_RUNTIME_FAKE_ENGINE_H_

#include <string>

#include "heddle/error.h"
#include "heddle/kernel.h"
#include "runtime/driver/driver.h"

namespace heddle::testing {

// The primary context of a device, retained and current, as an engine has it.
class EngineContext {
 public:
  explicit EngineContext(int device = 0) : device_(device) {
    cuda::CUcontext context = nullptr;
    cuda::check(cuda::driver().cuDevicePrimaryCtxRetain(&context, device), "retain");
    cuda::check(cuda::driver().cuCtxPushCurrent(context), "push");
  }
  ~EngineContext() {
    cuda::CUcontext popped = nullptr;
    cuda::driver().cuCtxPopCurrent(&popped);
    cuda::driver().cuDevicePrimaryCtxRelease(device_);
  }
  EngineContext(const EngineContext&) = delete;
  EngineContext& operator=(const EngineContext&) = delete;

 private:
  int device_;
};

class EngineStream {
 public:
  EngineStream() { cuda::check(cuda::driver().cuStreamCreate(&stream_, 0), "create"); }
  ~EngineStream() { cuda::driver().cuStreamDestroy(stream_); }
  EngineStream(const EngineStream&) = delete;
  EngineStream& operator=(const EngineStream&) = delete;

  Stream get() const { return stream_; }
  // In the strictest mode: what any thread does wrong breaks it.
  void begin_capture() {
    const auto global = static_cast<cuda::CUstreamCaptureMode>(0);
    cuda::check(cuda::driver().cuStreamBeginCapture(stream_, global), "begin");
  }
  // Whether the capture came out valid.
  bool end_capture() {
    cuda::CUgraph graph = nullptr;
    return cuda::driver().cuStreamEndCapture(stream_, &graph) == cuda::CUDA_SUCCESS;
  }

 private:
  cuda::CUstream stream_ = nullptr;
};

// The error that work() throws: its code, and its text in `what`. "" if it throws none.
template <typename Work>
std::string code_of(const Work& work, std::string* what = nullptr) {
  try {
    work();
  } catch (const Error& error) {
    if (what != nullptr) *what = error.what();
    return error.code();
  }
  return {};
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_FAKE_ENGINE_H_
