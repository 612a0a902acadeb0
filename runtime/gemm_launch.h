// What a launch of a GEMM is: its arguments' contract and its grid. Pure, so it needs no GPU.
#ifndef HEDDLE_RUNTIME_GEMM_LAUNCH_H_
#define HEDDLE_RUNTIME_GEMM_LAUNCH_H_

#include <cstddef>
#include <cstdint>

#include "heddle/kernel.h"
#include "heddle/plan.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.m", "launch.missing", "launch.unexpected",
// "launch.misaligned" or "launch.workspace" if `args` break the contract of Kernel::launch.
// `workspace_bytes` is what the launch needs. Reads the pointers' values only. Allocates nothing
// unless it throws.
void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args);

struct LaunchGrid {
  unsigned int x = 0;  // tiles of M: the one count that may pass 65535
  unsigned int y = 0;  // tiles of N
  unsigned int z = 0;  // parts of K
};

LaunchGrid launch_grid(const GemmVariant& variant, std::int64_t m, std::int64_t n) noexcept;

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_GEMM_LAUNCH_H_
