// Owners of device memory, streams and events, for tools. They need a current context.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEVICE_DEVICE_MEMORY_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEVICE_DEVICE_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "heddle/device_memory.h"
#include "runtime/driver/driver.h"

namespace heddle {

// Non-blocking: does not wait for the default stream, nor it for this one.
class OwnedStream {
 public:
  OwnedStream() {
    cuda::check(cuda::driver().cuStreamCreate(&stream_, cuda::CU_STREAM_NON_BLOCKING),
                "cuStreamCreate");
  }
  ~OwnedStream() { cuda::try_driver(nullptr)->cuStreamDestroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  cuda::CUstream get() const noexcept { return stream_; }
  void synchronize() const {
    cuda::check(cuda::driver().cuStreamSynchronize(stream_), "cuStreamSynchronize");
  }

 private:
  cuda::CUstream stream_ = nullptr;
};

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) cuda::check(cuda::driver().cuMemAlloc(&pointer_, bytes), "cuMemAlloc");
  }
  ~DeviceBuffer() {
    if (pointer_ != 0) cuda::try_driver(nullptr)->cuMemFree(pointer_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : pointer_(std::exchange(other.pointer_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }
  cuda::CUdeviceptr address() const noexcept { return pointer_; }
  // Null for an empty buffer.
  void* get(std::size_t offset = 0) const noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver counts addresses in integers.
    return pointer_ == 0 ? nullptr : reinterpret_cast<void*>(pointer_ + offset);
  }

  // What a launch takes: the bytes from `offset` on, all or so many of them.
  DeviceOutput memory(std::size_t offset = 0) const noexcept {
    return memory(offset, bytes_ - offset);
  }
  DeviceOutput memory(std::size_t offset, std::size_t bytes) const noexcept {
    return {get(offset), pointer_ == 0 ? 0 : bytes};
  }

  void fill(unsigned char byte, const OwnedStream& stream) {
    if (bytes_ == 0) return;
    cuda::check(cuda::driver().cuMemsetD8Async(pointer_, byte, bytes_, stream.get()),
                "cuMemsetD8Async");
  }
  // Both wait until the copy is done.
  void upload(const void* from, std::size_t bytes, const OwnedStream& stream,
              std::size_t offset = 0) {
    if (bytes == 0) return;
    cuda::check(cuda::driver().cuMemcpyHtoDAsync(pointer_ + offset, from, bytes, stream.get()),
                "cuMemcpyHtoDAsync");
    stream.synchronize();
  }
  void download(void* to, std::size_t offset, std::size_t bytes, const OwnedStream& stream) const {
    cuda::check(cuda::driver().cuMemcpyDtoHAsync(to, pointer_ + offset, bytes, stream.get()),
                "cuMemcpyDtoHAsync");
    stream.synchronize();
  }
  void copy_from(const DeviceBuffer& other, const OwnedStream& stream) {
    cuda::check(
        cuda::driver().cuMemcpyDtoDAsync(pointer_, other.pointer_, other.bytes_, stream.get()),
        "cuMemcpyDtoDAsync");
  }
  // Fills the bytes from `begin` to `end` with repetitions of the first `unit` of them.
  void repeat(std::size_t begin, std::size_t unit, std::size_t end, const OwnedStream& stream) {
    for (std::size_t filled = unit; unit > 0 && begin + filled < end; filled *= 2) {
      cuda::check(
          cuda::driver().cuMemcpyDtoDAsync(pointer_ + begin + filled, pointer_ + begin,
                                           std::min(filled, end - begin - filled), stream.get()),
          "cuMemcpyDtoDAsync");
    }
  }

 private:
  cuda::CUdeviceptr pointer_ = 0;
  std::size_t bytes_ = 0;
};

template <typename T>
DeviceBuffer to_device(const std::vector<T>& values, const OwnedStream& stream) {
  DeviceBuffer buffer(values.size() * sizeof(T));
  buffer.upload(values.data(), buffer.bytes(), stream);
  return buffer;
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEVICE_DEVICE_MEMORY_H_
