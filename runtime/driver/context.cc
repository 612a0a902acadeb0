#include "runtime/driver/context.h"

#include "runtime/driver/driver.h"

namespace heddle::cuda {

RelaxedCaptures::RelaxedCaptures(const Driver& driver) noexcept
    : driver_(driver), result_(driver.cuThreadExchangeStreamCaptureMode(&before_)) {}

RelaxedCaptures::~RelaxedCaptures() {
  if (result_ == CUDA_SUCCESS && !driver_is_forked()) {
    driver_.cuThreadExchangeStreamCaptureMode(&before_);
  }
}

void RelaxedCaptures::check() const { cuda::check(result_, "cuThreadExchangeStreamCaptureMode"); }

CurrentContext::CurrentContext(int ordinal) : relaxed_(driver()) {
  const Driver& cu = driver();
  relaxed_.check();
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
  const Driver* cu = try_driver(nullptr);
  if (cu == nullptr) return;  // forked
  CUcontext popped = nullptr;
  cu->cuCtxPopCurrent(&popped);
  cu->cuDevicePrimaryCtxRelease(device_);
}

std::optional<std::uint64_t> capture_of(Stream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::uint64_t id = 0;
  const CUresult result = driver().cuStreamGetCaptureInfo(static_cast<CUstream>(stream), &status,
                                                          &id, nullptr, nullptr, nullptr);
  // What the default stream answers while another one that it waits for is being captured.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return kSomeCapture;
  // Without a context there is no default stream that could be captured.
  if (stream == nullptr && result == CUDA_ERROR_INVALID_CONTEXT) return std::nullopt;
  check(result, "cuStreamGetCaptureInfo");
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return std::nullopt;
  return id;
}

PrimaryContext::PrimaryContext(CUdevice device) : device_(device) {
  check(driver().cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
}

PrimaryContext::~PrimaryContext() {
  const Driver* cu = try_driver(nullptr);
  if (cu == nullptr) return;
  const RelaxedCaptures relaxed(*cu);
  cu->cuDevicePrimaryCtxRelease(device_);
}

CUdevice device_at_hand(int ordinal) {
  const Driver& cu = driver();
  CUcontext context = nullptr;
  check(cu.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  CUdevice device = 0;
  if (context != nullptr) {
    check(cu.cuCtxGetDevice(&device), "cuCtxGetDevice");
  } else {
    check(cu.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  }
  return device;
}

}  // namespace heddle::cuda
