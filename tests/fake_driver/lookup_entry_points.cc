// The functions of the fake driver, under the driver's names and with its signatures: how they are
// found, what is no more than a name, and what the driver says of itself. The others are in
// device_entry_points.cc, code_entry_points.cc, memory_entry_points.cc and stream_entry_points.cc.
#include <string_view>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {
namespace {

struct Entry {
  const char* name;
  void* function;
};
template <typename Function>
Entry entry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return Call("cuInit", InCapture::kAllowed).result; }

CUresult cuDriverGetVersion(int* version) {
  const Call call("cuDriverGetVersion", InCapture::kAllowed);
  *version = 13000;
  return call.result;
}

// As the driver, these leave the pointer alone for results that they do not know.
CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (static_cast<int>(error)) {
    case 2:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case 100:
      *text = "CUDA_ERROR_NO_DEVICE";
      break;
    case 200:
      *text = "CUDA_ERROR_INVALID_IMAGE";
      break;
    case 500:
      *text = "CUDA_ERROR_NOT_FOUND";
      break;
    case 900:
      *text = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
      break;
    default:
      return kInvalidValue;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  if (error != CUDA_ERROR_OUT_OF_MEMORY) return kInvalidValue;
  *text = "out of memory";
  return CUDA_SUCCESS;
}

// Looked up with the others and used by tools only.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a function's name cannot stand in them.
#define FAKE_UNUSED(name, in_capture) \
  CUresult name() { return Call(#name, InCapture::in_capture).result; }
FAKE_UNUSED(cuMemGetInfo, kForbidden)
FAKE_UNUSED(cuPointerGetAttribute, kAllowed)
#undef FAKE_UNUSED

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, std::uint64_t,
                             CUdriverProcAddressQueryResult* status) {
#define FAKE_ENTRY(name) entry(#name, &(name))
  static const Entry entries[] = {FAKE_ENTRY(cuInit),
                                  FAKE_ENTRY(cuDriverGetVersion),
                                  FAKE_ENTRY(cuGetErrorName),
                                  FAKE_ENTRY(cuGetErrorString),
                                  FAKE_ENTRY(cuDeviceGet),
                                  FAKE_ENTRY(cuDeviceGetCount),
                                  FAKE_ENTRY(cuDeviceGetName),
                                  FAKE_ENTRY(cuDeviceTotalMem),
                                  FAKE_ENTRY(cuDeviceGetAttribute),
                                  FAKE_ENTRY(cuDevicePrimaryCtxRetain),
                                  FAKE_ENTRY(cuDevicePrimaryCtxRelease),
                                  FAKE_ENTRY(cuCtxGetCurrent),
                                  FAKE_ENTRY(cuCtxSetCurrent),
                                  FAKE_ENTRY(cuCtxPushCurrent),
                                  FAKE_ENTRY(cuCtxPopCurrent),
                                  FAKE_ENTRY(cuCtxGetDevice),
                                  FAKE_ENTRY(cuCtxSynchronize),
                                  FAKE_ENTRY(cuLibraryLoadData),
                                  FAKE_ENTRY(cuLibraryUnload),
                                  FAKE_ENTRY(cuLibraryGetKernel),
                                  FAKE_ENTRY(cuKernelSetAttribute),
                                  FAKE_ENTRY(cuKernelGetAttribute),
                                  FAKE_ENTRY(cuLaunchKernelEx),
                                  FAKE_ENTRY(cuTensorMapEncodeTiled),
                                  FAKE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor),
                                  FAKE_ENTRY(cuMemGetInfo),
                                  FAKE_ENTRY(cuMemAlloc),
                                  FAKE_ENTRY(cuMemFree),
                                  FAKE_ENTRY(cuMemHostAlloc),
                                  FAKE_ENTRY(cuMemFreeHost),
                                  FAKE_ENTRY(cuMemcpyHtoDAsync),
                                  FAKE_ENTRY(cuMemcpyDtoHAsync),
                                  FAKE_ENTRY(cuMemcpyDtoDAsync),
                                  FAKE_ENTRY(cuMemsetD8Async),
                                  FAKE_ENTRY(cuPointerGetAttribute),
                                  FAKE_ENTRY(cuStreamCreate),
                                  FAKE_ENTRY(cuStreamDestroy),
                                  FAKE_ENTRY(cuStreamSynchronize),
                                  FAKE_ENTRY(cuStreamBeginCapture),
                                  FAKE_ENTRY(cuStreamEndCapture),
                                  FAKE_ENTRY(cuStreamGetCaptureInfo),
                                  FAKE_ENTRY(cuThreadExchangeStreamCaptureMode),
                                  FAKE_ENTRY(cuEventCreate),
                                  FAKE_ENTRY(cuEventDestroy),
                                  FAKE_ENTRY(cuEventRecord),
                                  FAKE_ENTRY(cuEventSynchronize),
                                  FAKE_ENTRY(cuEventElapsedTime),
                                  FAKE_ENTRY(cuGraphInstantiateWithFlags),
                                  FAKE_ENTRY(cuGraphLaunch),
                                  FAKE_ENTRY(cuGraphExecDestroy),
                                  FAKE_ENTRY(cuGraphDestroy)};
#undef FAKE_ENTRY
  *function = nullptr;
  *status = static_cast<CUdriverProcAddressQueryResult>(1);  // not found
  if (state().missing.count(symbol) != 0) return CUDA_SUCCESS;
  for (const Entry& known : entries) {
    if (std::string_view(known.name) != symbol) continue;
    *function = known.function;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  return kNotFound;
}

}  // extern "C"

}  // namespace heddle::fake
