// Device memory, page-locked memory, copies and events. The device's memory is the process's own,
// so a test sees what was copied. As on a device a copy is made later than it is asked for: no
// sooner than somebody waits for it, so that memory which is used again too early gives wrong
// bytes.
#include <algorithm>
#include <cstring>
#include <new>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {
namespace {

constexpr std::size_t kDeviceAlignment = 256;

// Makes the copies of the stream that were asked for before number `end`.
void make_copies_before(CUstream stream, std::uint64_t end) {
  std::vector<FakeCopy>& copies = state().copies;
  for (FakeCopy& copy : copies) {
    if (copy.stream != stream || copy.number >= end) continue;
    std::memcpy(copy.to, copy.from, copy.bytes);
    copy.bytes = 0;
  }
  copies.erase(std::remove_if(copies.begin(), copies.end(),
                              [](const FakeCopy& copy) { return copy.bytes == 0; }),
               copies.end());
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's own type for a pointer.
void* host_of(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

FakeEvent* find_event(CUevent event) {
  auto* found = reinterpret_cast<FakeEvent*>(event);
  return state().events.count(found) != 0 ? found : nullptr;
}

}  // namespace

void make_copies(CUstream stream) { make_copies_before(stream, state().copy_count); }

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  const Call call("cuMemAlloc");
  if (call.result != CUDA_SUCCESS) return call.result;
  if (bytes == 0) return kInvalidValue;
  void* made = nullptr;
  if (state().allocate) {
    made = state().allocate(bytes);
  } else {
    made = ::operator new (bytes, std::align_val_t{kDeviceAlignment});
    std::memset(made, 0xFF, bytes);
    state().device_memory[made] = bytes;
  }
  *memory = reinterpret_cast<CUdeviceptr>(made);
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  const Call call("cuMemFree");
  if (state().device_memory.erase(host_of(memory)) == 0) return kInvalidValue;
  ::operator delete (host_of(memory), std::align_val_t{kDeviceAlignment});
  return call.result;
}
// These three are made at once, behind all copies that were asked for before.
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const Call call("cuMemcpyDtoHAsync", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  make_copies_before(stream, state().copy_count);
  std::memcpy(to, host_of(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const Call call("cuMemcpyDtoDAsync", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  make_copies_before(stream, state().copy_count);
  std::memcpy(host_of(to), host_of(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  const Call call("cuMemsetD8Async", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  make_copies_before(stream, state().copy_count);
  std::memset(host_of(to), value, count);
  return CUDA_SUCCESS;
}
// Behind all that any stream was asked for.
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  const Call call("cuMemcpyDtoH");
  if (call.result != CUDA_SUCCESS) return call.result;
  for (const FakeStream* stream : state().streams) {
    make_copies(reinterpret_cast<CUstream>(const_cast<FakeStream*>(stream)));
  }
  std::memcpy(to, host_of(from), bytes);
  return CUDA_SUCCESS;
}
// As programs find them that look for symbols.
CUresult cuMemAlloc_v2(CUdeviceptr* memory, std::size_t bytes) { return cuMemAlloc(memory, bytes); }
CUresult cuMemFree_v2(CUdeviceptr memory) { return cuMemFree(memory); }
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return cuMemcpyDtoH(to, from, bytes);
}

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned int) {
  const Call call("cuMemHostAlloc");
  if (call.result != CUDA_SUCCESS) return call.result;
  if (bytes == 0) return kInvalidValue;
  *memory = ::operator new(bytes);
  state().host_memory[*memory] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  const Call call("cuMemFreeHost");
  const auto found = state().host_memory.find(memory);
  if (found == state().host_memory.end()) return kInvalidValue;
  std::memset(memory, 0xDD, found->second);  // a copy that is made too late shows
  ::operator delete(memory);
  state().host_memory.erase(found);
  return call.result;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  const Call call("cuMemcpyHtoDAsync", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's own type for a pointer.
  state().copies.push_back(
      {reinterpret_cast<void*>(to), from, bytes, stream, state().copy_count++});
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  const Call call("cuEventCreate");
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* made = new FakeEvent;
  state().events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  const Call call("cuEventDestroy");
  FakeEvent* found = find_event(event);
  if (found == nullptr) return kInvalidValue;
  state().events.erase(found);
  delete found;
  return call.result;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const Call call("cuEventRecord", InCapture::kAllowed);
  FakeEvent* found = find_event(event);
  if (found == nullptr) return kInvalidValue;
  if (call.result != CUDA_SUCCESS) return call.result;
  found->stream = stream;
  found->end = state().copy_count;
  found->replayed = state().replayed;
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  const Call call("cuEventElapsedTime");
  const FakeEvent* first = find_event(start);
  const FakeEvent* last = find_event(end);
  if (first == nullptr || last == nullptr) return kInvalidValue;
  *milliseconds = 1e-3F * static_cast<float>(last->replayed - first->replayed);
  return call.result;
}
CUresult cuEventSynchronize(CUevent event) {
  const Call call("cuEventSynchronize");
  const FakeEvent* found = find_event(event);
  if (found == nullptr) return kInvalidValue;
  if (call.result == CUDA_SUCCESS) make_copies_before(found->stream, found->end);
  return call.result;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const Call call("cuStreamSynchronize");
  if (call.result == CUDA_SUCCESS) make_copies(stream);
  return call.result;
}

}  // extern "C"

}  // namespace heddle::fake
