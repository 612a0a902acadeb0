// What the data of all benchmarks have in common.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_BENCH_DATA_H_
#define HEDDLE_TOOLS_GPU_HARNESS_BENCH_DATA_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_BENCH_DATA_H_
