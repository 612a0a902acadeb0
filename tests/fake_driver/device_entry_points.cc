// Devices and contexts.
#include <cstring>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {

CUcontext own_context(int device) { return context_of(device, false); }

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const Call call("cuDeviceGet", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  if (find_device(ordinal) == nullptr) return static_cast<CUresult>(101);
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount", InCapture::kAllowed);
  if (call.result == CUDA_SUCCESS) *count = static_cast<int>(state().devices.size());
  return call.result;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  const Call call("cuDeviceGetName", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  const Device* found = find_device(device);
  if (found == nullptr || size <= 0) return kInvalidValue;
  std::strncpy(name, found->name.c_str(), static_cast<std::size_t>(size) - 1);
  name[size - 1] = '\0';
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  const Call call("cuDeviceTotalMem", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  const Device* found = find_device(device);
  if (found == nullptr) return kInvalidValue;
  *bytes = found->memory_bytes;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Call call("cuDeviceGetAttribute", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  const Device* found = find_device(device);
  if (found == nullptr || found->attributes.count(attribute) == 0) return kInvalidValue;
  *value = found->attributes.at(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const Call call("cuDevicePrimaryCtxRetain");
  if (call.result != CUDA_SUCCESS) return call.result;
  if (find_device(device) == nullptr) return kInvalidValue;
  ++find_device(device)->retained;
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  const Call call("cuDevicePrimaryCtxRelease");
  if (find_device(device) == nullptr || find_device(device)->retained == 0) return kInvalidValue;
  --find_device(device)->retained;
  return call.result;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  if (state().quiet) {
    *context = context_stack.empty() ? nullptr : context_stack.back();
    return CUDA_SUCCESS;
  }
  const Call call("cuCtxGetCurrent", InCapture::kAllowed);
  if (call.result == CUDA_SUCCESS) {
    *context = context_stack.empty() ? nullptr : context_stack.back();
  }
  return call.result;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  const Call call("cuCtxSetCurrent", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  if (!context_stack.empty()) context_stack.pop_back();
  if (context != nullptr) context_stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  const Call call("cuCtxPushCurrent", InCapture::kAllowed);
  if (call.result == CUDA_SUCCESS) context_stack.push_back(context);
  return call.result;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  const Call call("cuCtxPopCurrent", InCapture::kAllowed);
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = context_stack.back();
  context_stack.pop_back();
  return call.result;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (!state().quiet) {
    const Call call("cuCtxGetDevice", InCapture::kAllowed);
    if (call.result != CUDA_SUCCESS) return call.result;
  }
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = device_of(context_stack.back());
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return Call("cuCtxSynchronize").result; }

}  // extern "C"

}  // namespace heddle::fake
