// Compares what a kernel writes with the bytes that the host makes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_BYTE_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_BYTE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/gpu_harness/device_memory.h"

namespace heddle {

struct ByteCheck {
  std::size_t bytes = 0;
  std::size_t mismatches = 0;
  std::size_t first_mismatch = 0;  // byte offset; means nothing without mismatches
  bool guards_intact = false;      // nothing was written outside of the output

  bool passed() const noexcept { return mismatches == 0 && guards_intact; }
  // What is wrong, in a few words; empty if the check passed.
  std::string fault() const;
};

// Runs `launch` twice into an output that is poisoned differently each time, so that a byte that is
// not written is seen. `launch` enqueues on the stream. Throws Error(kDriver), and what it throws.
ByteCheck check_bytes(const std::vector<std::uint8_t>& expected, const OwnedStream& stream,
                      const std::function<void(const DeviceOutput& output)>& launch);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_BYTE_CHECK_H_
