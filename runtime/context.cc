#include "runtime/context.h"

#include "runtime/driver.h"

namespace heddle::cuda {

CurrentContext::CurrentContext(int ordinal) {
  const Driver& cu = driver();
  check(cu.cuCtxGetCurrent(&context_), "cuCtxGetCurrent");
  if (context_ != nullptr) {
    check(cu.cuCtxGetDevice(&device_), "cuCtxGetDevice");
    return;
  }
  check(cu.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  check(cu.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  const CUresult result = cu.cuCtxPushCurrent(context_);
  if (result != CUDA_SUCCESS) cu.cuDevicePrimaryCtxRelease(device_);
  check(result, "cuCtxPushCurrent");
  retained_ = true;
}

CurrentContext::~CurrentContext() {
  if (!retained_) return;
  const Driver& cu = *try_driver(nullptr);
  CUcontext popped = nullptr;
  cu.cuCtxPopCurrent(&popped);
  cu.cuDevicePrimaryCtxRelease(device_);
}

PrimaryContext::PrimaryContext(CUdevice device) : device_(device) {
  check(driver().cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
}

PrimaryContext::~PrimaryContext() { try_driver(nullptr)->cuDevicePrimaryCtxRelease(device_); }

}  // namespace heddle::cuda
