// Runs a dequantize kernel and compares W with the expected bits.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/dequantize_problem.h"

namespace heddle {

struct DequantizeCheck {
  std::uint64_t weights = 0;
  std::uint64_t mismatches = 0;
  std::string first_mismatch;  // empty if there is none
  bool guards_intact = false;  // nothing was written outside of W

  bool passed() const noexcept { return mismatches == 0 && guards_intact; }
};

// Launches on the tensors, with W full of poison and between guard bands. The kernel must be loaded
// for the current context's device. Throws Error.
DequantizeCheck check_dequantize(const Kernel& kernel, const SourceTensors& source,
                                 const std::vector<std::uint16_t>& expected);

// As above, with random data of that seed.
DequantizeCheck run_dequantize(const Kernel& kernel, std::uint32_t seed = 1);
// As above, from a spec: makes the kernel in the current context, else in device 0's primary one.
DequantizeCheck run_dequantize(Runtime& runtime, const Spec& spec, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_CHECK_H_
