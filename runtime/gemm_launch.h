// What a launch of a GEMM is: its arguments' contract and its grid. Pure, so it needs no GPU.
#ifndef HEDDLE_RUNTIME_GEMM_LAUNCH_H_
#define HEDDLE_RUNTIME_GEMM_LAUNCH_H_

#include <cstddef>
#include <cstdint>

#include "heddle/kernel.h"
#include "heddle/plan.h"
#include "runtime/launch_checks.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.op", "launch.m", "launch.missing",
// "launch.unexpected", "launch.misaligned" or "launch.workspace" if `args` break the contract of
// Kernel::launch. `workspace_bytes` is what the launch needs. Reads the pointers' values only.
// Allocates nothing unless it throws.
void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args);

// Of tiles: x: tiles of M, the one count that may pass 65535; y: tiles of N; z: parts of K.
LaunchGrid launch_grid(const Plan& plan, const GemmVariant& variant, std::int64_t m) noexcept;

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_GEMM_LAUNCH_H_
