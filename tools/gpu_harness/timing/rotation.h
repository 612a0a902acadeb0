// What the data of all benchmarks have in common.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_ROTATION_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_ROTATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

// The seed of random data that is only timed.
inline constexpr std::uint32_t kBenchSeed = 1;

// Buffers rotate over more memory than this, several times any L2 cache, so that no launch finds
// its data there.
inline constexpr std::size_t kRotationBytes = std::size_t{260} << 20;

// Copies of `bytes` each that no cache holds together.
inline std::size_t copies_for(std::size_t bytes) {
  return 1 + kRotationBytes / std::max<std::size_t>(bytes, 1);
}

// So many buffers, full of the byte.
inline std::vector<DeviceBuffer> rotating_buffers(std::size_t count, std::size_t bytes,
                                                  unsigned char byte, const OwnedStream& stream) {
  std::vector<DeviceBuffer> buffers;
  for (std::size_t i = 0; i < count; ++i) {
    buffers.emplace_back(bytes);
    buffers.back().fill(byte, stream);
  }
  stream.synchronize();
  return buffers;
}

// The one whose turn it is in launch `i`.
template <class Values>
const auto& turn_of(const Values& values, std::size_t i) {
  return values[i % values.size()];
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_ROTATION_H_
