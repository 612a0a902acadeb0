// The functions of the fake driver, under the driver's names and with its signatures.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "fake_driver.h"

using namespace heddle::cuda;
using heddle::fake::capture_mode;
using heddle::fake::Device;
using heddle::fake::FakeStream;
using heddle::fake::Library;
using heddle::fake::LoadedFunction;
using heddle::fake::state;
using heddle::fake::State;

namespace {

constexpr auto kInvalidValue = CUDA_ERROR_INVALID_VALUE;
constexpr auto kInvalidImage = static_cast<CUresult>(200);
constexpr auto kCaptureUnsupported = static_cast<CUresult>(900);
constexpr auto kNotFound = CUDA_ERROR_NOT_FOUND;
constexpr int kRelaxed = 2;

thread_local std::vector<CUcontext> context_stack;

// Of device i, the primary context and one that an engine made; contexts are only ever compared.
CUcontext context_of(int device, bool primary = true) {
  static char contexts[64];
  return reinterpret_cast<CUcontext>(&contexts[2 * device + (primary ? 0 : 1)]);
}
int device_of(CUcontext context) {
  for (int i = 0; i < 32; ++i) {
    if (context == context_of(i) || context == context_of(i, false)) return i;
  }
  return -1;
}

enum class InCapture { kForbidden, kAllowed };

// Enters the books and holds the lock for as long as the call; `result` is what it must return if
// that is no success.
class Call {
 public:
  // A call that is not said to be allowed in a capture, this thread's or another's, breaks every
  // one and fails, as loading code does, unless this thread has said that it knows what it does.
  explicit Call(const char* name, InCapture in_capture = InCapture::kForbidden)
      : lock_(state().mutex) {
    State& s = state();
    s.calls.emplace_back(name);
    if (in_capture == InCapture::kForbidden && capture_mode() != kRelaxed) break_captures();
    const auto found = s.failures.find(name);
    if (found == s.failures.end()) return;
    if (found->second.skip > 0) {
      --found->second.skip;
    } else if (found->second.times != 0) {
      if (found->second.times > 0) --found->second.times;
      result = static_cast<CUresult>(found->second.result);
    }
  }
  CUresult result = CUDA_SUCCESS;

 private:
  void break_captures() {
    for (FakeStream* stream : state().streams) {
      if (!stream->capturing) continue;
      stream->broken = true;
      result = kCaptureUnsupported;
    }
  }
  std::unique_lock<std::mutex> lock_;
};

Device* find_device(int device) {
  auto& devices = state().devices;
  if (device < 0 || device >= static_cast<int>(devices.size())) return nullptr;
  return &devices[static_cast<std::size_t>(device)];
}

// ELF64: the end of the section headers is the end of a cubin.
std::size_t elf_bytes(const unsigned char* image) {
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return 0;
  std::uint64_t sections = 0;
  std::uint16_t entry = 0;
  std::uint16_t count = 0;
  std::memcpy(&sections, image + 40, 8);
  std::memcpy(&entry, image + 58, 2);
  std::memcpy(&count, image + 60, 2);
  return sections + std::size_t{entry} * count;
}

struct Entry {
  const char* name;
  void* function;
};
template <typename Function>
Entry entry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

FakeStream* find_stream(CUstream stream) {
  auto* found = reinterpret_cast<FakeStream*>(stream);
  return state().streams.count(found) != 0 ? found : nullptr;
}

}  // namespace

CUcontext heddle::fake::own_context(int device) { return context_of(device, false); }

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

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                           unsigned int, CUlibraryOption*, void**, unsigned int) {
  const Call call("cuLibraryLoadData");
  if (call.result != CUDA_SUCCESS) return call.result;
  const std::size_t bytes = elf_bytes(static_cast<const unsigned char*>(code));
  if (bytes == 0) return kInvalidImage;
  auto* loaded = new Library;
  loaded->image.assign(static_cast<const char*>(code), bytes);
  loaded->image_bytes = bytes;
  state().libraries.insert(loaded);
  *library = reinterpret_cast<CUlibrary>(loaded);
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary library) {
  const Call call("cuLibraryUnload");
  auto* loaded = reinterpret_cast<Library*>(library);
  if (state().libraries.erase(loaded) == 0) return kInvalidValue;
  for (auto it = state().functions.begin(); it != state().functions.end();) {
    LoadedFunction* function = *it;
    it = function->library == loaded ? state().functions.erase(it) : std::next(it);
    if (function->library == loaded) delete function;
  }
  delete loaded;
  return call.result;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const Call call("cuLibraryGetKernel");
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* loaded = reinterpret_cast<Library*>(library);
  if (state().libraries.count(loaded) == 0) return kInvalidValue;
  // The section of a kernel's code is named after it.
  if (loaded->image.find(std::string(".text.") + name) == std::string::npos) return kNotFound;
  auto* function = new LoadedFunction{loaded, name, {}};
  state().functions.insert(function);
  *kernel = reinterpret_cast<CUkernel>(function);
  return CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  const Call call("cuKernelSetAttribute");
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* function = reinterpret_cast<LoadedFunction*>(kernel);
  if (state().functions.count(function) == 0 || find_device(device) == nullptr) {
    return kInvalidValue;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    function->limits[device] = value;
  }
  return CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel, CUdevice) {
  const Call call("cuKernelGetAttribute");
  *value = 0;
  return call.result;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, unsigned int, void*,
                                const std::uint64_t*, const std::uint64_t*, const unsigned int*,
                                const unsigned int*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  *map = {};
  if (state().quiet) return CUDA_SUCCESS;
  const Call call("cuTensorMapEncodeTiled", InCapture::kAllowed);
  return call.result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  if (state().quiet) {
    ++state().quiet_launches;
    return CUDA_SUCCESS;
  }
  const Call call("cuLaunchKernelEx", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* launched = reinterpret_cast<LoadedFunction*>(function);
  if (state().functions.count(launched) == 0) return kInvalidValue;
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = device_of(context_stack.back());
  const auto limit = launched->limits.find(device);
  const int allowed = limit == launched->limits.end() ? 48 << 10 : limit->second;
  if (config->sharedMemBytes > static_cast<unsigned int>(allowed)) return kInvalidValue;
  const FakeStream* stream = find_stream(config->hStream);
  state().launches.push_back({launched->name, *config, stream != nullptr && stream->capturing});
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  const Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 1;
  return call.result;
}

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  const Call call("cuStreamCreate", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* made = new FakeStream;
  state().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  const Call call("cuStreamDestroy");
  auto* found = reinterpret_cast<FakeStream*>(stream);
  if (state().streams.erase(found) == 0) return kInvalidValue;
  delete found;
  return call.result;
}
CUresult cuStreamSynchronize(CUstream) { return Call("cuStreamSynchronize").result; }
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  const Call call("cuStreamBeginCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || found->capturing) return kInvalidValue;
  found->capturing = true;
  found->broken = false;
  return call.result;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Call call("cuStreamEndCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || !found->capturing) return kInvalidValue;
  found->capturing = false;
  *graph = nullptr;
  return found->broken ? static_cast<CUresult>(901) : call.result;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const Call call("cuStreamIsCapturing", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  if (stream == nullptr && context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const FakeStream* found = find_stream(stream);
  *status = found != nullptr && found->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  const Call call("cuThreadExchangeStreamCaptureMode", InCapture::kAllowed);
  if (call.result == CUDA_SUCCESS) std::swap(*mode, capture_mode());
  return call.result;
}

// Looked up with the others and used by tools only.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a function's name cannot stand in them.
#define FAKE_UNUSED(name, in_capture) \
  CUresult name() { return Call(#name, InCapture::in_capture).result; }
FAKE_UNUSED(cuMemGetInfo, kForbidden)
FAKE_UNUSED(cuMemAlloc, kForbidden)
FAKE_UNUSED(cuMemFree, kForbidden)
FAKE_UNUSED(cuMemcpyHtoDAsync, kAllowed)
FAKE_UNUSED(cuMemcpyDtoHAsync, kAllowed)
FAKE_UNUSED(cuMemcpyDtoDAsync, kAllowed)
FAKE_UNUSED(cuMemsetD8Async, kAllowed)
FAKE_UNUSED(cuPointerGetAttribute, kAllowed)
FAKE_UNUSED(cuEventCreate, kForbidden)
FAKE_UNUSED(cuEventDestroy, kForbidden)
FAKE_UNUSED(cuEventRecord, kAllowed)
FAKE_UNUSED(cuEventSynchronize, kForbidden)
FAKE_UNUSED(cuEventElapsedTime, kForbidden)
FAKE_UNUSED(cuGraphInstantiateWithFlags, kForbidden)
FAKE_UNUSED(cuGraphLaunch, kForbidden)
FAKE_UNUSED(cuGraphExecDestroy, kForbidden)
FAKE_UNUSED(cuGraphDestroy, kForbidden)
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
                                  FAKE_ENTRY(cuStreamIsCapturing),
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
