// Libraries, their kernels, and launches.
#include <cstring>
#include <iterator>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {
namespace {

constexpr auto kInvalidImage = static_cast<CUresult>(200);

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

}  // namespace

extern "C" {

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
  auto* function = new LoadedFunction{loaded, name, {}, {}};
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
  } else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    function->carveouts[device] = value;
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

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
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
  FakeStream* stream = find_stream(config->hStream);
  const auto carveout = launched->carveouts.find(device);
  state().launches.push_back({launched->name, *config, stream != nullptr && stream->capturing,
                              carveout == launched->carveouts.end() ? -1 : carveout->second});
  const auto& work_of = state().work_of;
  const Work work = work_of ? work_of(state().launches.back(), parameters) : [] {};
  if (state().launches.back().captured) {
    stream->captured.push_back(work);
    return CUDA_SUCCESS;
  }
  make_copies(config->hStream);
  work();
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  const Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 1;
  return call.result;
}

}  // extern "C"

}  // namespace heddle::fake
