// The primary context of a device, retained and current while this lives.
#ifndef HEDDLE_TESTS_GPU_PRIMARY_CONTEXT_H_
#define HEDDLE_TESTS_GPU_PRIMARY_CONTEXT_H_

#include "runtime/driver/driver.h"

namespace heddle {

// The name is short because every call of the driver begins with it.
inline const cuda::Driver& cu() { return cuda::driver(); }

class PrimaryContext {
 public:
  explicit PrimaryContext(cuda::CUdevice device = 0) : device_(device) {
    cuda::CUcontext context = nullptr;
    cuda::check(cuda::driver().cuDevicePrimaryCtxRetain(&context, device),
                "cuDevicePrimaryCtxRetain");
    cuda::check(cuda::driver().cuCtxPushCurrent(context), "cuCtxPushCurrent");
  }
  ~PrimaryContext() {
    cuda::CUcontext popped = nullptr;
    cuda::driver().cuCtxPopCurrent(&popped);
    cuda::driver().cuDevicePrimaryCtxRelease(device_);
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

 private:
  cuda::CUdevice device_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_PRIMARY_CONTEXT_H_
