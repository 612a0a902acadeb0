// Device memory that a kernel writes, between guard bands, and the bytes that both are filled with
// before a launch.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEVICE_GUARDED_BUFFER_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEVICE_GUARDED_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

// Bytes before and behind an output that no kernel may write to.
inline constexpr std::size_t kGuardBytes = 4096;

// Outputs and their guard bands are filled with this where they need not hold NaNs.
inline constexpr unsigned char kGuardByte = 0xA5;

// Memory full of this byte holds NaNs, whatever its floating-point type.
inline constexpr unsigned char kNanByte = 0xFF;

// Needs a current context. Without bytes it has no memory, and no guards.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  explicit GuardedBuffer(std::size_t bytes)
      : buffer_(bytes == 0 ? 0 : bytes + 2 * kGuardBytes), bytes_(bytes) {}

  std::size_t bytes() const noexcept { return bytes_; }
  DeviceOutput memory() const noexcept {
    return bytes_ == 0 ? DeviceOutput() : buffer_.memory(kGuardBytes, bytes_);
  }
  void* get() const noexcept { return buffer_.get(kGuardBytes); }

  // The guards, too.
  void fill(unsigned char byte, const OwnedStream& stream) { buffer_.fill(byte, stream); }
  void upload(const void* from, std::size_t bytes, const OwnedStream& stream) {
    buffer_.upload(from, bytes, stream, kGuardBytes);
  }
  // The first bytes.
  std::vector<std::uint8_t> read(std::size_t bytes, const OwnedStream& stream) const {
    std::vector<std::uint8_t> values(bytes);
    if (bytes > 0) buffer_.download(values.data(), kGuardBytes, bytes, stream);
    return values;
  }
  // Whether the guard ahead and the one behind so many bytes are full of the byte still.
  bool guards_intact(unsigned char byte, std::size_t bytes, const OwnedStream& stream) const {
    if (bytes_ == 0) return true;
    std::vector<unsigned char> guards(2 * kGuardBytes);
    buffer_.download(guards.data(), 0, kGuardBytes, stream);
    buffer_.download(guards.data() + kGuardBytes, kGuardBytes + bytes, kGuardBytes, stream);
    return std::all_of(guards.begin(), guards.end(),
                       [byte](unsigned char one) { return one == byte; });
  }

 private:
  DeviceBuffer buffer_;
  std::size_t bytes_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEVICE_GUARDED_BUFFER_H_
